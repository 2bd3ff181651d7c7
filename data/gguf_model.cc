#include "data/gguf_model.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <utility>
#include <vector>

#include "data/json_text.h"

namespace tidemill::data {
namespace {

tl::unexpected<Error> Refuse(const std::string& what, const std::string& path) {
  return Fail(ErrorCode::kInvalidArgument, what + " ('" + path + "'): this model cannot be imported");
}

// A float32 of the file as the decimal number that was meant: 1e-05, not 9.999999747378752e-06.
double SevenDigits(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.7g", value);
  return std::strtod(text.data(), nullptr);
}

// The divisor of Llama 3's rotary frequencies, as transformers computes it for rope_type "llama3": 1 for short
// wavelengths, `factor` for long ones, in between a blend.
double Llama3Divisor(const GgufRopeScaling& scaling, double frequency) {
  const auto original = static_cast<double>(scaling.original_positions);
  const double wavelength = 2 * std::numbers::pi / frequency;
  if (wavelength < original / scaling.high_freq_factor) return 1;
  if (wavelength > original / scaling.low_freq_factor) return scaling.factor;
  const double smooth =
      (original / wavelength - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
  return 1 / ((1 - smooth) / scaling.factor + smooth);
}

// GGUF keeps Llama 3's scaling as a table of divisors. Every released model uses the constants of GgufRopeScaling and a
// factor of its own, which the longest wavelength shows; another table has no configuration to be written as.
Result<GgufRopeScaling> Llama3Scaling(const GgufReader& reader, const GgufTensor& table, const GgufModel& model) {
  const auto count = static_cast<size_t>(model.head_dim / 2);
  if (table.shape != std::vector<uint64_t>{count} || table.type != GgufType::kF32)
    return Refuse("tensor 'rope_freqs.weight' is not one fp32 number per pair of rotary dimensions", reader.path());
  std::vector<float> divisors(count);
  TM_RETURN_IF_ERROR(reader.ReadAsFloat(table, 0, divisors));
  GgufRopeScaling scaling{.type = "llama3", .factor = divisors.back()};
  for (size_t i = 0; i < count; ++i) {
    const double frequency =
        std::pow(model.rope_theta, -2.0 * static_cast<double>(i) / static_cast<double>(model.head_dim));
    if (!(std::abs(divisors[i] / Llama3Divisor(scaling, frequency) - 1) < 1e-4))
      return Refuse("tensor 'rope_freqs.weight' holds frequencies that are not Llama 3's", reader.path());
  }
  return scaling;
}

Status ReadRope(const GgufReader& reader, const std::string& prefix, GgufModel& model) {
  const GgufMetadata& keys = reader.metadata();
  const auto* dimensions = keys.Find<int64_t>(prefix + "rope.dimension_count");
  if (dimensions != nullptr && *dimensions != model.head_dim)
    return Refuse("key '" + prefix + "rope.dimension_count' is " + std::to_string(*dimensions) + " of a head's " +
                      std::to_string(model.head_dim) + " dimensions",
                  keys.path());
  const auto* theta = keys.Find<double>(prefix + "rope.freq_base");
  model.rope_theta = theta == nullptr ? 10000.0 : *theta;
  if (!std::isfinite(model.rope_theta) || model.rope_theta <= 0)
    return Refuse("key '" + prefix + "rope.freq_base' is not a positive number", keys.path());
  const auto* type = keys.Find<std::string>(prefix + "rope.scaling.type");
  const auto* factor = keys.Find<double>(prefix + "rope.scaling.factor");
  if (factor == nullptr) factor = keys.Find<double>(prefix + "rope.scale_linear");  // the older name
  if (type != nullptr && *type != "none" && *type != "linear")
    return Refuse("rope scaling '" + *type + "' is not supported", keys.path());
  if (factor != nullptr && *factor != 1 && (type == nullptr || *type == "linear")) {
    if (!std::isfinite(*factor) || *factor <= 0) return Refuse("the rope scaling factor is not positive", keys.path());
    model.rope_scaling = GgufRopeScaling{.type = "linear", .factor = *factor};
  }
  if (const GgufTensor* table = reader.Find("rope_freqs.weight")) {
    if (model.rope_scaling) return Refuse("two rope scalings, linear and 'rope_freqs.weight'", keys.path());
    TM_ASSIGN_OR_RETURN(model.rope_scaling, Llama3Scaling(reader, *table, model));
  }
  return Ok();
}

Status ReadHeads(const GgufMetadata& keys, const std::string& prefix, GgufModel& model) {
  TM_ASSIGN_OR_RETURN(model.heads, keys.GetCount(prefix + "attention.head_count"));
  const std::string kv = prefix + "attention.head_count_kv", key_length = prefix + "attention.key_length",
                    value_length = prefix + "attention.value_length";
  model.kv_heads = model.heads;
  if (keys.Has(kv)) {
    TM_ASSIGN_OR_RETURN(model.kv_heads, keys.GetCount(kv));
  }
  if (model.heads % model.kv_heads != 0)
    return Refuse(std::to_string(model.heads) + " heads over " + std::to_string(model.kv_heads) + " key-value heads",
                  keys.path());
  if (keys.Has(key_length)) {
    TM_ASSIGN_OR_RETURN(model.head_dim, keys.GetCount(key_length));
  } else if (model.hidden % model.heads == 0) {
    model.head_dim = model.hidden / model.heads;
  }
  if (model.head_dim == 0 || model.head_dim % 2 != 0)
    return Refuse(
        "no even head size: " + std::to_string(model.hidden) + " over " + std::to_string(model.heads) + " heads",
        keys.path());
  if (keys.Has(value_length)) {
    TM_ASSIGN_OR_RETURN(const int64_t length, keys.GetCount(value_length));
    if (length != model.head_dim) return Refuse("keys and values of different lengths", keys.path());
  }
  return Ok();
}

Status RefuseOtherArithmetic(const GgufMetadata& keys, const std::string& prefix, const GgufModel& model) {
  const auto* experts = keys.Find<int64_t>(prefix + "expert_count");
  if (experts != nullptr && *experts > 0) return Refuse("a mixture of experts is not supported", keys.path());
  const auto* window = keys.Find<int64_t>(prefix + "attention.sliding_window");
  if (window != nullptr && *window > 0 && *window < model.context)
    return Refuse("a sliding window of " + std::to_string(*window) + " is not supported", keys.path());
  for (const char* key :
       {"attention.clamp_kqv", "attention.scale", "logit_scale", "residual_scale", "embedding_scale"}) {
    if (keys.Has(prefix + key)) return Refuse("key '" + prefix + key + "' is not supported", keys.path());
  }
  return Ok();
}

Status ReadSpecialIds(const GgufMetadata& keys, GgufModel& model) {
  const std::array<std::pair<const char*, std::optional<int64_t>*>, 4> ids{
      {{"bos", &model.bos}, {"eos", &model.eos}, {"unknown", &model.unk}, {"padding", &model.pad}}};
  for (const auto& [name, id] : ids) {
    const std::string key = std::string("tokenizer.ggml.") + name + "_token_id";
    if (!keys.Has(key)) continue;
    TM_ASSIGN_OR_RETURN(*id, keys.Get<int64_t>(key));
    if (**id < 0 || **id >= model.vocab_rows)
      return Refuse("key '" + key + "' is " + std::to_string(**id) + " of " + std::to_string(model.vocab_rows) +
                        " vocabulary rows",
                    keys.path());
  }
  return Ok();
}

void SpecialIds(JsonWriter& json, const GgufModel& model) {
  if (model.bos) json.Integer("bos_token_id", *model.bos);
  if (model.eos) json.Integer("eos_token_id", *model.eos);
  if (model.pad) json.Integer("pad_token_id", *model.pad);
}

void RopeScaling(JsonWriter& json, const GgufModel& model) {
  if (!model.rope_scaling) return void(json.Null("rope_scaling"));
  const GgufRopeScaling& scaling = *model.rope_scaling;
  json.Key("rope_scaling").BeginObject().Float("factor", scaling.factor);
  if (scaling.type == "llama3") {
    json.Float("high_freq_factor", scaling.high_freq_factor).Float("low_freq_factor", scaling.low_freq_factor);
    json.Integer("original_max_position_embeddings", scaling.original_positions);
  }
  json.Text("rope_type", scaling.type).EndObject();
}

}  // namespace

Result<GgufModel> ReadGgufModel(const GgufReader& reader) {
  const GgufMetadata& keys = reader.metadata();
  TM_ASSIGN_OR_RETURN(const std::string architecture, keys.Get<std::string>("general.architecture"));
  if (architecture != "llama" && architecture != "qwen2")
    return Refuse("architecture '" + architecture + "' is not supported (llama, qwen2)", keys.path());
  const std::string prefix = architecture + ".";
  GgufModel model;
  model.is_qwen2 = architecture == "qwen2";
  TM_ASSIGN_OR_RETURN(model.hidden, keys.GetCount(prefix + "embedding_length"));
  TM_ASSIGN_OR_RETURN(model.layers, keys.GetCount(prefix + "block_count"));
  TM_ASSIGN_OR_RETURN(model.intermediate, keys.GetCount(prefix + "feed_forward_length"));
  TM_ASSIGN_OR_RETURN(model.context, keys.GetCount(prefix + "context_length"));
  TM_RETURN_IF_ERROR(ReadHeads(keys, prefix, model));
  TM_RETURN_IF_ERROR(RefuseOtherArithmetic(keys, prefix, model));
  TM_ASSIGN_OR_RETURN(const double epsilon, keys.Get<double>(prefix + "attention.layer_norm_rms_epsilon"));
  if (!std::isfinite(epsilon) || epsilon < 0)
    return Refuse("a norm epsilon that is negative or not finite", keys.path());
  model.rms_epsilon = SevenDigits(epsilon);
  TM_RETURN_IF_ERROR(ReadRope(reader, prefix, model));
  const GgufTensor* embedding = reader.Find("token_embd.weight");
  if (embedding == nullptr) return Refuse("tensor 'token_embd.weight' is missing", keys.path());
  model.vocab_rows = static_cast<int64_t>(embedding->shape.front());
  model.tied = reader.Find("output.weight") == nullptr;
  TM_RETURN_IF_ERROR(ReadSpecialIds(keys, model));
  return model;
}

std::string ConfigJson(const GgufModel& model, DType dtype) {
  JsonWriter json;
  json.BeginObject().Texts("architectures", {model.is_qwen2 ? "Qwen2ForCausalLM" : "LlamaForCausalLM"});
  if (!model.is_qwen2) json.Bool("attention_bias", false);
  json.Float("attention_dropout", 0);
  SpecialIds(json, model);
  if (model.head_dim * model.heads != model.hidden) json.Integer("head_dim", model.head_dim);
  json.Text("hidden_act", "silu").Integer("hidden_size", model.hidden);
  json.Float("initializer_range", 1 / std::sqrt(static_cast<double>(model.hidden)));
  json.Integer("intermediate_size", model.intermediate).Integer("max_position_embeddings", model.context);
  if (!model.is_qwen2) json.Bool("mlp_bias", false);
  json.Text("model_type", model.is_qwen2 ? "qwen2" : "llama").Integer("num_attention_heads", model.heads);
  json.Integer("num_hidden_layers", model.layers).Integer("num_key_value_heads", model.kv_heads);
  if (!model.is_qwen2) json.Integer("pretraining_tp", 1);
  json.Float("rms_norm_eps", model.rms_epsilon);
  RopeScaling(json, model);
  json.Float("rope_theta", model.rope_theta);
  if (model.is_qwen2) json.Null("sliding_window");
  json.Bool("tie_word_embeddings", model.tied).Text("torch_dtype", TorchName(dtype)).Bool("use_cache", true);
  if (model.is_qwen2) json.Bool("use_sliding_window", false);
  return json.Integer("vocab_size", model.vocab_rows).EndObject().Finish();
}

std::string GenerationConfigJson(const GgufModel& model) {
  JsonWriter json;
  json.BeginObject().Bool("_from_model_config", true);
  SpecialIds(json, model);
  return json.EndObject().Finish();
}

}  // namespace tidemill::data
