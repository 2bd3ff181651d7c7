#include "model/config.h"

#include <algorithm>

#include "model/config_reader.h"

namespace tidemill::model {
namespace {

using Json = nlohmann::json;

struct Known {
  const char *name, *model_type;
  Architecture architecture;
};
constexpr Known kKnown[] = {{"LlamaForCausalLM", "llama", Architecture::kLlama},
                            {"MistralForCausalLM", "mistral", Architecture::kMistral},
                            {"Qwen2ForCausalLM", "qwen2", Architecture::kQwen2},
                            {"Qwen3ForCausalLM", "qwen3", Architecture::kQwen3}};
constexpr int64_t kLayersMax = 4096;  // every one has operations in a step, and all of them are planned
constexpr const char* kKnownNames = "architecture Llama, Mistral, Qwen2 or Qwen3 (...ForCausalLM)";

bool IsQwen(Architecture a) { return a == Architecture::kQwen2 || a == Architecture::kQwen3; }

// Hugging Face goes by model_type, and files without one by architectures: where both are there, they must agree.
Result<Architecture> ParseArchitecture(const ConfigReader& reader) {
  const Json* const type = reader.Find("model_type");
  const Json* const list = reader.Find("architectures");
  const bool listed = list != nullptr && list->is_array() && !list->empty();
  if (!listed && type == nullptr) return reader.Wrong("architectures", "is missing");
  for (const Known& known : kKnown) {
    if (listed ? (*list)[0] != known.name : *type != known.model_type) continue;
    if (type == nullptr || *type == known.model_type) return known.architecture;
    return reader.Unsupported("model_type", *type, (std::string("model_type ") + known.model_type).c_str());
  }
  return listed ? reader.Unsupported("architectures", *list, kKnownNames)
                : reader.Unsupported("model_type", *type, kKnownNames);
}

// Settings that exist in the wild, change the arithmetic, and are not built.
Status RefuseUnsupported(const ConfigReader& reader) {
  if (const Json* act = reader.Find("hidden_act"); act != nullptr && *act != "silu" && *act != "swish")
    return reader.Unsupported("hidden_act", *act, "silu");
  constexpr struct {
    const char* key;
    double neutral;
  } kNeutral[] = {{"pretraining_tp", 1}, {"attention_dropout", 0}, {"partial_rotary_factor", 1}};
  for (const auto& [key, neutral] : kNeutral) {
    TM_ASSIGN_OR_RETURN(const double value, reader.Number(key, neutral));
    if (value != neutral) return reader.Unsupported(key, value, neutral == 1 ? "1" : "0");
  }
  for (const char* const key : {"rope_interleaved", "use_mrope", "is_encoder_decoder", "add_cross_attention"}) {
    TM_ASSIGN_OR_RETURN(const bool value, reader.Flag(key, false));
    if (value) return reader.Unsupported(key, value, "false");
  }
  if (const Json* quantized = reader.Find("quantization_config"); quantized != nullptr)
    return reader.Unsupported("quantization_config", *quantized, "weights that are not quantised");
  return Ok();
}

Status ParseShape(const ConfigReader& reader, ModelConfig& config) {
  TM_ASSIGN_OR_RETURN(config.vocabulary, reader.Size("vocab_size"));
  TM_ASSIGN_OR_RETURN(config.hidden, reader.Size("hidden_size"));
  TM_ASSIGN_OR_RETURN(config.intermediate, reader.Size("intermediate_size"));
  TM_ASSIGN_OR_RETURN(config.layers, reader.Size("num_hidden_layers"));
  TM_ASSIGN_OR_RETURN(config.heads, reader.Size("num_attention_heads"));
  TM_ASSIGN_OR_RETURN(config.kv_heads, reader.Size("num_key_value_heads", config.heads));
  TM_ASSIGN_OR_RETURN(config.max_positions, reader.Size("max_position_embeddings", 0));
  if (config.layers > kLayersMax) return reader.Wrong("num_hidden_layers", "is above " + std::to_string(kLayersMax));
  if (config.heads % config.kv_heads != 0)
    return reader.Wrong("num_key_value_heads",
                        "= " + std::to_string(config.kv_heads) +
                            " does not divide num_attention_heads = " + std::to_string(config.heads));
  // Qwen3's configuration class has a head_dim of its own where the file has none.
  const bool derived =
      reader.Find("head_dim") == nullptr && (config.architecture != Architecture::kQwen3 || reader.Has("head_dim"));
  if (derived && config.hidden % config.heads != 0)
    return reader.Wrong("head_dim", "is missing, and num_attention_heads = " + std::to_string(config.heads) +
                                        " does not divide hidden_size = " + std::to_string(config.hidden));
  TM_ASSIGN_OR_RETURN(config.head_dim, reader.Size("head_dim", derived ? config.hidden / config.heads : 128));
  if (config.head_dim % 2 != 0)
    return reader.Wrong("head_dim", "= " + std::to_string(config.head_dim) + " is odd: RoPE needs pairs");
  if (config.heads * config.head_dim > INT32_MAX) return reader.Wrong("head_dim", "times heads is above 2147483647");
  return Ok();
}

Status ParseBiases(const ConfigReader& reader, ModelConfig& config) {
  TM_ASSIGN_OR_RETURN(const bool attention, reader.Flag("attention_bias", false));
  TM_ASSIGN_OR_RETURN(const bool mlp, reader.Flag("mlp_bias", false));
  const bool llama = config.architecture == Architecture::kLlama;
  if (mlp && !llama) return reader.Unsupported("mlp_bias", true, "false, or a Llama");
  if (attention && !llama && config.architecture != Architecture::kQwen3)
    return reader.Unsupported("attention_bias", true, "false, or a Llama or Qwen3");
  config.mlp_bias = mlp;
  config.output_bias = attention;
  config.qkv_bias = attention || config.architecture == Architecture::kQwen2;
  config.qk_norm = config.architecture == Architecture::kQwen3;
  return Ok();
}

// The window of the layers that have one; 0: none has. Mistral's configuration class has one where the file has none.
Result<int32_t> ParseWindow(const ConfigReader& reader, const ModelConfig& config) {
  TM_ASSIGN_OR_RETURN(const bool wanted, reader.Flag("use_sliding_window", false));
  const bool mistral = config.architecture == Architecture::kMistral;
  if (!mistral && !(IsQwen(config.architecture) && wanted)) return 0;
  TM_ASSIGN_OR_RETURN(const int64_t window, reader.Size("sliding_window", reader.Has("sliding_window") ? 0 : 4096));
  return static_cast<int32_t>(window);
}

Status ParseWindows(const ConfigReader& reader, ModelConfig& config) {
  TM_ASSIGN_OR_RETURN(const int32_t window, ParseWindow(reader, config));
  int64_t first = 0;  // the first layer with a window
  if (IsQwen(config.architecture) && reader.Find("max_window_layers") != nullptr) {
    const Json& value = *reader.Find("max_window_layers");
    if (!value.is_number_unsigned()) return reader.Wrong("max_window_layers", "is not a number of layers");
    first = static_cast<int64_t>(std::min<uint64_t>(value.get<uint64_t>(), INT32_MAX));
  } else if (IsQwen(config.architecture)) {
    first = 28;
  }
  for (int64_t layer = 0; layer < config.layers; ++layer) config.windows.push_back(layer < first ? 0 : window);

  const Json* const types = reader.Find("layer_types");
  if (types == nullptr) return Ok();
  if (!types->is_array() || types->size() != config.windows.size())
    return reader.Wrong("layer_types", "is not a list of num_hidden_layers types");
  for (size_t layer = 0; layer < types->size(); ++layer) {
    const Json& type = (*types)[layer];
    const bool sliding = type == "sliding_attention";
    if (!sliding && type != "full_attention")
      return reader.Unsupported("layer_types", type, "full_attention and sliding_attention");
    if (sliding && window == 0) return reader.Wrong("layer_types", "has sliding_attention, and sliding_window is off");
    // Only Qwen's model code reads the list; elsewhere it may say what is so, and nothing else.
    if (!IsQwen(config.architecture) && sliding != (config.windows[layer] > 0))
      return reader.Unsupported("layer_types", type, "the same attention in every layer");
    config.windows[layer] = sliding ? window : 0;
  }
  return Ok();
}

Status ParseRest(const ConfigReader& reader, ModelConfig& config) {
  TM_ASSIGN_OR_RETURN(const double epsilon, reader.Number("rms_norm_eps", 1e-6));
  if (epsilon < 0) return reader.Wrong("rms_norm_eps", "is negative");
  config.rms_epsilon = static_cast<float>(epsilon);
  TM_ASSIGN_OR_RETURN(config.tied, reader.Flag("tie_word_embeddings", false));
  TM_ASSIGN_OR_RETURN(config.rope, ParseRope(reader));
  for (const char* const key : {"torch_dtype", "dtype"}) {
    const Json* const dtype = reader.Find(key);
    if (dtype == nullptr) continue;
    if (!dtype->is_string()) return reader.Wrong(key, "is not a name");
    const auto parsed = DTypeFromTorchName(dtype->get<std::string>());
    if (!parsed) return reader.Unsupported(key, *dtype, "float32, bfloat16 or float16");
    config.dtype = *parsed;
  }
  if (const Json* eos = reader.Find("eos_token_id"); eos != nullptr) {
    for (const Json& id : eos->is_array() ? *eos : Json::array({*eos})) {
      if (!id.is_number_integer()) return reader.Wrong("eos_token_id", "is neither an id nor a list of ids");
      config.eos_ids.push_back(id.get<int32_t>());
    }
  }
  return Ok();
}

}  // namespace

Result<ModelConfig> ParseModelConfig(std::string_view config_json, std::string_view where) {
  const Json json = Json::parse(config_json, nullptr, false);
  if (!json.is_object())
    return Fail(ErrorCode::kInvalidArgument, "the configuration is not a JSON object (" + std::string(where) + ")");
  const ConfigReader reader(json, std::string(where));
  ModelConfig config;
  TM_ASSIGN_OR_RETURN(config.architecture, ParseArchitecture(reader));
  TM_RETURN_IF_ERROR(RefuseUnsupported(reader));
  TM_RETURN_IF_ERROR(ParseShape(reader, config));
  TM_RETURN_IF_ERROR(ParseBiases(reader, config));
  TM_RETURN_IF_ERROR(ParseWindows(reader, config));
  TM_RETURN_IF_ERROR(ParseRest(reader, config));
  return config;
}

}  // namespace tidemill::model
