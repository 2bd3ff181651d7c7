#include "model/config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/tensors.h"

namespace tidemill::model {
namespace {

using Json = nlohmann::json;

Json Tiny(const char* architecture = "LlamaForCausalLM") {
  return {{"architectures", {architecture}},
          {"hidden_size", 64},
          {"intermediate_size", 172},
          {"num_hidden_layers", 4},
          {"num_attention_heads", 4},
          {"num_key_value_heads", 2},
          {"vocab_size", 320},
          {"rms_norm_eps", 1e-5},
          {"hidden_act", "silu"},
          {"rope_theta", 10000.0},
          {"torch_dtype", "bfloat16"},
          {"attention_dropout", 0.0}};
}

Json With(Json config, const char* key, Json value) {
  config[key] = std::move(value);
  return config;
}
Json Without(Json config, const char* key) {
  config.erase(key);
  return config;
}

ModelConfig Parsed(const Json& json) {
  auto config = ParseModelConfig(json.dump(), "config.json");
  if (!config) ADD_FAILURE() << config.error().message;
  return config ? *config : ModelConfig{};
}

void ExpectRefused(const Json& json, std::initializer_list<const char*> words) {
  const auto config = ParseModelConfig(json.dump(), "config.json");
  ASSERT_FALSE(config.has_value()) << json;
  EXPECT_EQ(config.error().code, ErrorCode::kInvalidArgument);
  for (const char* word : words)
    EXPECT_NE(config.error().message.find(word), std::string::npos) << config.error().message;
  EXPECT_NE(config.error().message.find("config.json"), std::string::npos) << config.error().message;
}

TEST(ModelConfig, ReadsTheSpellingOfTransformers4) {
  const ModelConfig c = Parsed(Tiny());
  EXPECT_EQ(c.architecture, Architecture::kLlama);
  EXPECT_EQ(c.hidden, 64);
  EXPECT_EQ(c.intermediate, 172);
  EXPECT_EQ(c.layers, 4);
  EXPECT_EQ(c.vocabulary, 320);
  EXPECT_EQ(c.kv_heads, 2);
  EXPECT_EQ(c.head_dim, 16);
  EXPECT_EQ(c.rms_epsilon, 1e-5F);
  EXPECT_EQ(c.rope.theta, 10000);
  EXPECT_EQ(c.dtype, DType::kBf16);
  EXPECT_FALSE(c.tied || c.qkv_bias || c.output_bias || c.mlp_bias || c.qk_norm);
  EXPECT_EQ(c.windows, std::vector<int32_t>(4, 0));
}

TEST(ModelConfig, ReadsTheSpellingOfTransformers5) {
  Json json = Without(Without(Tiny(), "rope_theta"), "torch_dtype");
  json["dtype"] = "float16";
  json["rope_parameters"] = {{"rope_theta", 20000.0}, {"rope_type", "linear"}, {"factor", 4.0}};
  const ModelConfig c = Parsed(json);
  EXPECT_EQ(c.dtype, DType::kF16);
  EXPECT_EQ(c.rope.theta, 20000);
  EXPECT_EQ(c.rope.type, RopeConfig::Type::kLinear);
  EXPECT_EQ(c.rope.factor, 4);
}

TEST(ModelConfig, TakesRopeSettingsOfEveryGeneration) {
  const auto rope = [](Json scaling) { return Parsed(With(Tiny(), "rope_scaling", std::move(scaling))).rope; };
  EXPECT_EQ(rope(nullptr).type, RopeConfig::Type::kDefault);
  EXPECT_EQ(rope({{"rope_type", "default"}}).type, RopeConfig::Type::kDefault);
  for (const char* key : {"type", "rope_type"}) {
    const RopeConfig linear = rope({{key, "linear"}, {"factor", 2}});
    EXPECT_EQ(linear.type, RopeConfig::Type::kLinear);
    EXPECT_EQ(linear.factor, 2);
  }
  const RopeConfig llama3 = rope({{"rope_type", "llama3"},
                                  {"factor", 32},
                                  {"low_freq_factor", 1},
                                  {"high_freq_factor", 4},
                                  {"original_max_position_embeddings", 8192}});
  EXPECT_EQ(llama3.type, RopeConfig::Type::kLlama3);
  EXPECT_EQ(llama3.original_max_positions, 8192);
  for (const char* type : {"foo", "yarn", "dynamic", "longrope"})
    ExpectRefused(With(Tiny(), "rope_scaling", {{"rope_type", type}, {"factor", 2}}), {"rope_type", type});
  ExpectRefused(With(Tiny(), "rope_scaling", {{"type", "foo"}}), {"type", "foo", "rope_scaling"});
  ExpectRefused(With(Tiny(), "rope_scaling", {{"type", "linear"}}), {"factor"});
}

TEST(ModelConfig, ReadsHeadDimOrDerivesIt) {
  Json json = With(With(With(Tiny(), "hidden_size", 56), "num_attention_heads", 3), "num_key_value_heads", 1);
  ExpectRefused(json, {"head_dim", "3", "56"});
  ExpectRefused(With(json, "head_dim", nullptr), {"head_dim"});
  const ModelConfig c = Parsed(With(json, "head_dim", 32));
  const auto tensors = LayerTensors(c, 0);
  EXPECT_EQ(tensors[0].name, "model.layers.0.self_attn.q_proj.weight");
  EXPECT_EQ(tensors[0].rows, 96);
  EXPECT_EQ(tensors[0].cols, 56);
  EXPECT_EQ(tensors[3].name, "model.layers.0.self_attn.o_proj.weight");
  EXPECT_EQ(tensors[3].rows, 56);
  EXPECT_EQ(tensors[3].cols, 96);
  EXPECT_EQ(Parsed(Without(Tiny(), "num_key_value_heads")).kv_heads, 4);
  EXPECT_EQ(Parsed(With(Tiny(), "num_key_value_heads", nullptr)).kv_heads, 4);
  EXPECT_EQ(Parsed(Tiny("Qwen3ForCausalLM")).head_dim, 128);
  ExpectRefused(With(Tiny(), "head_dim", 15), {"head_dim", "15"});
  ExpectRefused(With(Tiny(), "num_key_value_heads", 3), {"num_key_value_heads", "3"});
}

TEST(ModelConfig, BiasesAreUsedOrRefusedNeverIgnored) {
  const ModelConfig llama = Parsed(With(With(Tiny(), "attention_bias", true), "mlp_bias", true));
  EXPECT_TRUE(llama.qkv_bias && llama.output_bias && llama.mlp_bias);
  EXPECT_EQ(LayerTensors(llama, 0).size(), 9U + 7U);
  const ModelConfig qwen2 = Parsed(Tiny("Qwen2ForCausalLM"));
  EXPECT_TRUE(qwen2.qkv_bias && !qwen2.output_bias && !qwen2.mlp_bias);
  const ModelConfig qwen3 = Parsed(With(Tiny("Qwen3ForCausalLM"), "attention_bias", true));
  EXPECT_TRUE(qwen3.qkv_bias && qwen3.output_bias && qwen3.qk_norm);
  ExpectRefused(With(Tiny("MistralForCausalLM"), "attention_bias", true), {"attention_bias"});
  ExpectRefused(With(Tiny("Qwen3ForCausalLM"), "mlp_bias", true), {"mlp_bias"});
}

TEST(ModelConfig, EachArchitectureHasItsOwnWindow) {
  const auto windows = [](Json json) { return Parsed(json).windows; };
  using Windows = std::vector<int32_t>;
  const Json mistral = Tiny("MistralForCausalLM"), qwen = With(Tiny("Qwen2ForCausalLM"), "sliding_window", 8);
  EXPECT_EQ(windows(With(mistral, "sliding_window", 8)), Windows(4, 8));
  EXPECT_EQ(windows(With(mistral, "sliding_window", nullptr)), Windows(4, 0));
  EXPECT_EQ(windows(mistral), Windows(4, 4096));
  EXPECT_EQ(windows(With(Tiny(), "sliding_window", 8)), Windows(4, 0));
  EXPECT_EQ(windows(qwen), Windows(4, 0));
  const Json on = With(qwen, "use_sliding_window", true);
  EXPECT_EQ(windows(With(on, "max_window_layers", 3)), (Windows{0, 0, 0, 8}));
  EXPECT_EQ(windows(With(on, "max_window_layers", 0)), Windows(4, 8));
  const Json types = {"full_attention", "sliding_attention", "full_attention", "sliding_attention"};
  EXPECT_EQ(windows(With(on, "layer_types", types)), (Windows{0, 8, 0, 8}));
  ExpectRefused(With(qwen, "layer_types", types), {"layer_types", "sliding_window"});
  ExpectRefused(With(on, "layer_types", Json(std::vector<std::string>(4, "chunked_attention"))),
                {"layer_types", "chunked"});
  ExpectRefused(With(on, "layer_types", {"full_attention"}), {"layer_types"});
}

TEST(ModelConfig, WhatChangesTheArithmeticAndIsNotBuiltIsRefusedByName) {
  for (const char* name : {"MixtralForCausalLM", "Gemma2ForCausalLM", "Phi3ForCausalLM", "Qwen3MoeForCausalLM",
                           "LlamaForSequenceClassification"})
    ExpectRefused(Tiny(name), {"architectures", name});
  ExpectRefused(With(Tiny(), "hidden_act", "gelu"), {"hidden_act", "gelu"});
  ExpectRefused(With(Tiny(), "pretraining_tp", 2), {"pretraining_tp", "2"});
  ExpectRefused(With(Tiny(), "attention_dropout", 0.1), {"attention_dropout", "0.1"});
  ExpectRefused(With(Tiny(), "rope_interleaved", true), {"rope_interleaved"});
  ExpectRefused(With(Tiny(), "quantization_config", {{"bits", 4}}), {"quantization_config", "bits"});
}

TEST(ModelConfig, TheModelTypeStandsInForMissingArchitectures) {
  const Json json = With(Without(Tiny(), "architectures"), "model_type", "qwen3");
  EXPECT_EQ(Parsed(json).architecture, Architecture::kQwen3);
  ExpectRefused(With(json, "model_type", "mamba"), {"model_type", "mamba"});
}

TEST(ModelConfig, AModelTypeThatIsAnotherArchitecturesIsRefused) {
  ExpectRefused(With(Tiny(), "model_type", "mamba"), {"model_type", "mamba"});
  ExpectRefused(With(Tiny("Qwen2ForCausalLM"), "model_type", "llama"), {"model_type", "llama", "qwen2"});
  ExpectRefused(With(Tiny(), "model_type", 7), {"model_type", "7"});
}

TEST(ModelConfig, BrokenFilesAreRefusedByKey) {
  EXPECT_FALSE(ParseModelConfig("{", "config.json").has_value());
  EXPECT_FALSE(ParseModelConfig("[]", "config.json").has_value());
  ExpectRefused(Without(Tiny(), "hidden_size"), {"hidden_size"});
  for (const Json& bad : {Json(0), Json(-1), Json(1.5), Json("64"), Json(1ULL << 63), Json(1LL << 40)})
    ExpectRefused(With(Tiny(), "hidden_size", bad), {"hidden_size"});
  ExpectRefused(With(Tiny(), "tie_word_embeddings", "yes"), {"tie_word_embeddings"});
  ExpectRefused(With(Tiny(), "torch_dtype", "float8"), {"torch_dtype", "float8"});
  ExpectRefused(With(Tiny(), "num_hidden_layers", 100000), {"num_hidden_layers", "4096"});
}

TEST(ModelConfig, TakesOneEndOfTextOrSeveral) {
  EXPECT_EQ(Parsed(With(Tiny(), "eos_token_id", 2)).eos_ids, (std::vector<int32_t>{2}));
  EXPECT_EQ(Parsed(With(Tiny(), "eos_token_id", {2, 7})).eos_ids, (std::vector<int32_t>{2, 7}));
  EXPECT_TRUE(Parsed(With(Tiny(), "eos_token_id", nullptr)).eos_ids.empty());
}

}  // namespace
}  // namespace tidemill::model
