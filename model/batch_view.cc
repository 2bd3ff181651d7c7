#include "model/batch_view.h"

#include <algorithm>
#include <cmath>

#include "model/tensors.h"

namespace tidemill::model {

gpu::AttentionShape AttentionShapeOf(const ModelConfig& config, int64_t layer) {
  return {.heads = static_cast<int32_t>(config.heads),
          .kv_heads = static_cast<int32_t>(config.kv_heads),
          .head_dim = static_cast<int32_t>(config.head_dim),
          .window = config.windows[static_cast<size_t>(layer)],
          .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(config.head_dim)))};
}

gpu::WorkspaceLimits WorkspaceLimitsOf(const ModelConfig& config, int64_t rows, int64_t sequences, DType weight_dtype) {
  const int64_t widest = std::max({config.intermediate, config.q_columns(), config.kv_columns()});
  return {.rows = rows,
          .weight_rows = std::max({widest, config.hidden, VocabularySliceRows(config)}),
          .weight_cols = std::max(widest, config.hidden),
          .weight_elements = config.hidden * std::max(widest, VocabularySliceRows(config)),
          .weight_dtype = weight_dtype,
          .attention = AttentionShapeOf(config, 0),
          .sequences = static_cast<int32_t>(sequences)};
}

}  // namespace tidemill::model
