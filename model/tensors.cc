#include "model/tensors.h"

#include <algorithm>

namespace tidemill::model {
namespace {

TensorInfo Matrix(std::string name, Role role, int64_t rows, int64_t cols) {
  return {.name = std::move(name), .role = role, .rows = rows, .cols = cols, .matrix = true};
}
TensorInfo Vector(std::string name, Role role, int64_t rows) {
  return {.name = std::move(name), .role = role, .rows = rows, .cols = 1, .matrix = false};
}

}  // namespace

std::vector<TensorInfo> LayerTensors(const ModelConfig& config, int64_t layer) {
  const std::string prefix = "model.layers." + std::to_string(layer) + ".";
  std::vector<TensorInfo> tensors;
  const auto linear = [&](const char* name, Role weight, int64_t rows, int64_t cols, bool biased) {
    tensors.push_back(Matrix(prefix + name + ".weight", weight, rows, cols));
    const auto bias = static_cast<Role>(static_cast<uint8_t>(weight) + 1);
    if (biased) tensors.push_back(Vector(prefix + name + ".bias", bias, rows));
  };
  linear("self_attn.q_proj", Role::kQ, config.q_columns(), config.hidden, config.qkv_bias);
  linear("self_attn.k_proj", Role::kK, config.kv_columns(), config.hidden, config.qkv_bias);
  linear("self_attn.v_proj", Role::kV, config.kv_columns(), config.hidden, config.qkv_bias);
  linear("self_attn.o_proj", Role::kO, config.hidden, config.q_columns(), config.output_bias);
  if (config.qk_norm) {
    tensors.push_back(Vector(prefix + "self_attn.q_norm.weight", Role::kQNorm, config.head_dim));
    tensors.push_back(Vector(prefix + "self_attn.k_norm.weight", Role::kKNorm, config.head_dim));
  }
  linear("mlp.gate_proj", Role::kGate, config.intermediate, config.hidden, config.mlp_bias);
  linear("mlp.up_proj", Role::kUp, config.intermediate, config.hidden, config.mlp_bias);
  linear("mlp.down_proj", Role::kDown, config.hidden, config.intermediate, config.mlp_bias);
  tensors.push_back(Vector(prefix + "input_layernorm.weight", Role::kInputNorm, config.hidden));
  tensors.push_back(Vector(prefix + "post_attention_layernorm.weight", Role::kPostNorm, config.hidden));
  return tensors;
}

TensorInfo EmbeddingTensor(const ModelConfig& config) {
  return Matrix("model.embed_tokens.weight", Role::kEmbedding, config.vocabulary, config.hidden);
}
TensorInfo FinalNormTensor(const ModelConfig& config) {
  return Vector("model.norm.weight", Role::kFinalNorm, config.hidden);
}
TensorInfo HeadTensor(const ModelConfig& config) {
  return Matrix("lm_head.weight", Role::kHead, config.vocabulary, config.hidden);
}

std::vector<TensorInfo> ModelTensors(const ModelConfig& config) {
  std::vector<TensorInfo> tensors = {EmbeddingTensor(config)};
  for (int64_t layer = 0; layer < config.layers; ++layer)
    for (TensorInfo& tensor : LayerTensors(config, layer)) tensors.push_back(std::move(tensor));
  tensors.push_back(FinalNormTensor(config));
  if (!config.tied) tensors.push_back(HeadTensor(config));
  return tensors;
}

int64_t VocabularySliceRows(const ModelConfig& config) {
  constexpr int64_t kSlicesMax = 1024;
  const int64_t least = (config.vocabulary + kSlicesMax - 1) / kSlicesMax;
  return std::min(config.vocabulary, std::max({config.intermediate, config.q_columns(), least}));
}

}  // namespace tidemill::model
