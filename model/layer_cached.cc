#include "base/check.h"
#include "model/layer.h"
#include "model/layer_memory.h"

namespace tidemill::model {
namespace {

struct CachedView {
  CachedView(const ModelConfig& config, int64_t rows, float* start) {
    FloatRuns runs(start);
    normed = runs.Take(rows * config.hidden);
    mid = runs.Take(rows * config.hidden);
    inverse = runs.Take(rows * config.heads);
    q = runs.Take(rows * config.q_columns());
    o = runs.Take(rows * config.q_columns());
    lse = runs.Take(rows * config.heads);
    gate = runs.Take(rows * config.intermediate);
    up = runs.Take(rows * config.intermediate);
    floats = runs.used();
  }
  float *normed, *mid, *inverse, *q, *o, *lse, *gate, *up;
  int64_t floats;
};

}  // namespace

int64_t CachedScratchFloats(const ModelConfig& config, int64_t rows) {
  return CachedView(config, rows, nullptr).floats;
}

void LayerForwardCached(gpu::Operations& ops, const ModelConfig& config, int64_t layer, const LayerWeights& weights,
                        const BatchView& batch, const float* x, float* y, float* k_cache, float* v_cache,
                        int64_t cached, float* scratch_floats) {
  TM_CHECK(scratch_floats != nullptr && x != y && batch.sequences.sequences == 1);
  const int64_t rows = batch.rows;
  const CachedView scratch(config, rows, scratch_floats);
  float *const k = k_cache + cached * config.kv_columns(), *const v = v_cache + cached * config.kv_columns();
  const auto rotate = [&](float* values, int64_t heads, Role norm) {
    if (config.qk_norm) {
      ops.RmsNormForward(values, weights[norm], config.rms_epsilon, values, scratch.inverse, rows * heads,
                         config.head_dim);
    }
    ops.Rope(values, batch.positions, batch.cosines, batch.sines, rows, static_cast<int32_t>(heads),
             static_cast<int32_t>(config.head_dim), false);
  };

  ops.RmsNormForward(x, weights[Role::kInputNorm], config.rms_epsilon, scratch.normed, scratch.inverse, rows,
                     config.hidden);
  ops.LinearForward(scratch.normed, weights[Role::kQ], weights[Role::kQBias], scratch.q, rows, false);
  ops.LinearForward(scratch.normed, weights[Role::kK], weights[Role::kKBias], k, rows, false);
  ops.LinearForward(scratch.normed, weights[Role::kV], weights[Role::kVBias], v, rows, false);
  rotate(scratch.q, config.heads, Role::kQNorm);
  rotate(k, config.kv_heads, Role::kKNorm);
  ops.AttentionForward(AttentionShapeOf(config, layer), batch.sequences, scratch.q, k_cache, v_cache, scratch.o,
                       scratch.lse);
  ops.LinearForward(scratch.o, weights[Role::kO], weights[Role::kOBias], scratch.mid, rows, false);
  ops.Add(x, scratch.mid, rows * config.hidden);

  ops.RmsNormForward(scratch.mid, weights[Role::kPostNorm], config.rms_epsilon, scratch.normed, scratch.inverse, rows,
                     config.hidden);
  ops.LinearForward(scratch.normed, weights[Role::kGate], weights[Role::kGateBias], scratch.gate, rows, false);
  ops.LinearForward(scratch.normed, weights[Role::kUp], weights[Role::kUpBias], scratch.up, rows, false);
  ops.SwiGluForward(scratch.gate, scratch.up, scratch.gate, rows * config.intermediate);
  ops.LinearForward(scratch.gate, weights[Role::kDown], weights[Role::kDownBias], y, rows, false);
  ops.Add(scratch.mid, y, rows * config.hidden);
}

}  // namespace tidemill::model
