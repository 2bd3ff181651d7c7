#include "model/layer_memory.h"

#include <algorithm>

#include "model/layer.h"

namespace tidemill::model {

KeptView::KeptView(const ModelConfig& config, int64_t rows, float* start) {
  FloatRuns runs(start);
  inverse_rms1 = runs.Take(rows);
  q = runs.Take(rows * config.q_columns());
  k = runs.Take(rows * config.kv_columns());
  v = runs.Take(rows * config.kv_columns());
  o = runs.Take(rows * config.q_columns());
  lse = runs.Take(rows * config.heads);
  mid = runs.Take(rows * config.hidden);
  inverse_rms2 = runs.Take(rows);
  gate = runs.Take(rows * config.intermediate);
  up = runs.Take(rows * config.intermediate);
  if (config.qk_norm) {
    raw_q = runs.Take(rows * config.q_columns());
    raw_k = runs.Take(rows * config.kv_columns());
    inverse_q = runs.Take(rows * config.heads);
    inverse_k = runs.Take(rows * config.kv_heads);
  }
  floats = runs.used();
}

ScratchView::ScratchView(const ModelConfig& config, int64_t rows, float* start) {
  FloatRuns runs(start);
  normed = runs.Take(rows * config.hidden);
  d_normed = runs.Take(rows * config.hidden);
  inverse_rms = runs.Take(rows);
  FloatRuns mlp(start == nullptr ? nullptr : start + runs.used()), attention = mlp;
  wide1 = mlp.Take(rows * config.intermediate);
  wide2 = mlp.Take(rows * config.intermediate);
  d_o = attention.Take(rows * config.q_columns());
  dq = attention.Take(rows * config.q_columns());
  dk = attention.Take(rows * config.kv_columns());
  dv = attention.Take(rows * config.kv_columns());
  floats = runs.used() + std::max(mlp.used(), attention.used());
}

int64_t KeptFloats(const ModelConfig& config, int64_t rows) { return KeptView(config, rows, nullptr).floats; }
int64_t LayerScratchFloats(const ModelConfig& config, int64_t rows) {
  return ScratchView(config, rows, nullptr).floats;
}

}  // namespace tidemill::model
