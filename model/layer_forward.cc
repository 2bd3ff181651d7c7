#include "base/check.h"
#include "model/layer.h"
#include "model/layer_memory.h"

namespace tidemill::model {
namespace {

// What a pass writes. Places may be the same where one value takes the other's: a pass that keeps nothing for backward
// normalises, rotates and activates in place.
struct PassBuffers {
  float *normed, *inverse_rms1, *inverse_rms2;
  float *raw_q, *raw_k, *inverse_q, *inverse_k;  // raw: before the per-head norm
  float *q, *k, *v;                              // of the batch's rows
  const float *all_k, *all_v;                    // what attention reads
  float *o, *lse, *mid, *gate, *up, *activated;
};

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

// q or k: projected, normalised over each head where the model does that, rotated.
void Project(gpu::Operations& ops, const ModelConfig& config, const LayerWeights& weights, const BatchView& batch,
             Role role, const float* normed, float* raw, float* inverse, float* rotated) {
  const bool queries = role == Role::kQ;
  const auto heads = static_cast<int32_t>(queries ? config.heads : config.kv_heads);
  const auto bias = queries ? Role::kQBias : Role::kKBias;
  ops.LinearForward(normed, weights[role], weights[bias], config.qk_norm ? raw : rotated, batch.rows, false);
  if (config.qk_norm) {
    ops.RmsNormForward(raw, weights[queries ? Role::kQNorm : Role::kKNorm], config.rms_epsilon, rotated, inverse,
                       batch.rows * heads, config.head_dim);
  }
  ops.Rope(rotated, batch.positions, batch.cosines, batch.sines, batch.rows, heads,
           static_cast<int32_t>(config.head_dim), false);
}

// y null: up to the MLP's inner values only.
void Pass(gpu::Operations& ops, const ModelConfig& config, int64_t layer, const LayerWeights& weights,
          const BatchView& batch, const float* x, float* y, const PassBuffers& to) {
  const int64_t rows = batch.rows;
  ops.RmsNormForward(x, weights[Role::kInputNorm], config.rms_epsilon, to.normed, to.inverse_rms1, rows, config.hidden);
  Project(ops, config, weights, batch, Role::kQ, to.normed, to.raw_q, to.inverse_q, to.q);
  Project(ops, config, weights, batch, Role::kK, to.normed, to.raw_k, to.inverse_k, to.k);
  ops.LinearForward(to.normed, weights[Role::kV], weights[Role::kVBias], to.v, rows, false);
  ops.AttentionForward(AttentionShapeOf(config, layer), batch.sequences, to.q, to.all_k, to.all_v, to.o, to.lse);
  ops.LinearForward(to.o, weights[Role::kO], weights[Role::kOBias], to.mid, rows, false);
  ops.Add(x, to.mid, rows * config.hidden);

  ops.RmsNormForward(to.mid, weights[Role::kPostNorm], config.rms_epsilon, to.normed, to.inverse_rms2, rows,
                     config.hidden);
  ops.LinearForward(to.normed, weights[Role::kGate], weights[Role::kGateBias], to.gate, rows, false);
  ops.LinearForward(to.normed, weights[Role::kUp], weights[Role::kUpBias], to.up, rows, false);
  if (y == nullptr) return;
  ops.SwiGluForward(to.gate, to.up, to.activated, rows * config.intermediate);
  ops.LinearForward(to.activated, weights[Role::kDown], weights[Role::kDownBias], y, rows, false);
  ops.Add(to.mid, y, rows * config.hidden);
}

}  // namespace

void LayerForward(gpu::Operations& ops, const ModelConfig& config, int64_t layer, const LayerWeights& weights,
                  const BatchView& batch, const float* x, float* y, float* kept_floats, float* scratch_floats) {
  TM_CHECK(kept_floats != nullptr && scratch_floats != nullptr && x != y);
  const KeptView kept(config, batch.rows, kept_floats);
  const ScratchView scratch(config, batch.rows, scratch_floats);
  Pass(ops, config, layer, weights, batch, x, y,
       {.normed = scratch.normed,
        .inverse_rms1 = kept.inverse_rms1,
        .inverse_rms2 = kept.inverse_rms2,
        .raw_q = kept.raw_q,
        .raw_k = kept.raw_k,
        .inverse_q = kept.inverse_q,
        .inverse_k = kept.inverse_k,
        .q = kept.q,
        .k = kept.k,
        .v = kept.v,
        .all_k = kept.k,
        .all_v = kept.v,
        .o = kept.o,
        .lse = kept.lse,
        .mid = kept.mid,
        .gate = kept.gate,
        .up = kept.up,
        .activated = scratch.wide1});
}

int64_t CachedScratchFloats(const ModelConfig& config, int64_t rows) {
  return CachedView(config, rows, nullptr).floats;
}

void LayerForwardCached(gpu::Operations& ops, const ModelConfig& config, int64_t layer, const LayerWeights& weights,
                        const BatchView& batch, const float* x, float* y, float* k_cache, float* v_cache,
                        int64_t cached, float* scratch_floats) {
  TM_CHECK(scratch_floats != nullptr && x != y && batch.sequences.sequences == 1);
  const CachedView scratch(config, batch.rows, scratch_floats);
  float *const k = k_cache + cached * config.kv_columns(), *const v = v_cache + cached * config.kv_columns();
  Pass(ops, config, layer, weights, batch, x, y,
       {.normed = scratch.normed,
        .inverse_rms1 = scratch.inverse,
        .inverse_rms2 = scratch.inverse,
        .raw_q = scratch.q,
        .raw_k = k,
        .inverse_q = scratch.inverse,
        .inverse_k = scratch.inverse,
        .q = scratch.q,
        .k = k,
        .v = v,
        .all_k = k_cache,
        .all_v = v_cache,
        .o = scratch.o,
        .lse = scratch.lse,
        .mid = scratch.mid,
        .gate = scratch.gate,
        .up = scratch.up,
        .activated = scratch.gate});
}

}  // namespace tidemill::model
