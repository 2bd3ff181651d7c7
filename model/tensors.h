// The tensors of a model: Hugging Face names, shapes, and which role each plays.
//
// Order: embedding, each layer (in the order of a checkpoint), final norm, head. A tied head does not exist: the
// embedding stands in for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.h"

namespace tidemill::model {

enum class Role : uint8_t {
  // of a layer; biases, kQNorm and kKNorm only where the model has them
  kQ,
  kQBias,
  kK,
  kKBias,
  kV,
  kVBias,
  kO,
  kOBias,
  kQNorm,
  kKNorm,
  kGate,
  kGateBias,
  kUp,
  kUpBias,
  kDown,
  kDownBias,
  kInputNorm,
  kPostNorm,
  // of the model
  kEmbedding,
  kFinalNorm,
  kHead,
};
inline constexpr size_t kLayerRoles = static_cast<size_t>(Role::kEmbedding);

struct TensorInfo {
  std::string name;  // "model.layers.3.self_attn.q_proj.weight"
  Role role = Role::kQ;
  int64_t rows = 0, cols = 1;  // a vector is rows x 1
  bool matrix = false;         // exactly two dimensions: these, and only these, get weight decay

  int64_t elements() const { return rows * cols; }
};

std::vector<TensorInfo> LayerTensors(const ModelConfig& config, int64_t layer);
TensorInfo EmbeddingTensor(const ModelConfig& config);
TensorInfo FinalNormTensor(const ModelConfig& config);
TensorInfo HeadTensor(const ModelConfig& config);  // only of an untied model

// All of them, in order.
std::vector<TensorInfo> ModelTensors(const ModelConfig& config);

// Vocabulary matrices are cut into slices of this many rows (the last may be shorter), so that none is larger than the
// largest matrix of a layer; but into 1024 slices at most. A function of the model alone: the loss's bits depend on it.
int64_t VocabularySliceRows(const ModelConfig& config);

}  // namespace tidemill::model
