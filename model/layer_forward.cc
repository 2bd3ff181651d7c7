#include "base/check.h"
#include "model/layer.h"
#include "model/layer_memory.h"

namespace tidemill::model {
namespace {

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

}  // namespace

void LayerForward(gpu::Operations& ops, const ModelConfig& config, int64_t layer, const LayerWeights& weights,
                  const BatchView& batch, const float* x, float* y, float* kept_floats, float* scratch_floats) {
  TM_CHECK(kept_floats != nullptr && scratch_floats != nullptr && x != y);
  const int64_t rows = batch.rows;
  const KeptView kept(config, rows, kept_floats);
  const ScratchView scratch(config, rows, scratch_floats);

  ops.RmsNormForward(x, weights[Role::kInputNorm], config.rms_epsilon, scratch.normed, kept.inverse_rms1, rows,
                     config.hidden);
  Project(ops, config, weights, batch, Role::kQ, scratch.normed, kept.raw_q, kept.inverse_q, kept.q);
  Project(ops, config, weights, batch, Role::kK, scratch.normed, kept.raw_k, kept.inverse_k, kept.k);
  ops.LinearForward(scratch.normed, weights[Role::kV], weights[Role::kVBias], kept.v, rows, false);
  ops.AttentionForward(AttentionShapeOf(config, layer), batch.sequences, kept.q, kept.k, kept.v, kept.o, kept.lse);
  ops.LinearForward(kept.o, weights[Role::kO], weights[Role::kOBias], kept.mid, rows, false);
  ops.Add(x, kept.mid, rows * config.hidden);

  ops.RmsNormForward(kept.mid, weights[Role::kPostNorm], config.rms_epsilon, scratch.normed, kept.inverse_rms2, rows,
                     config.hidden);
  ops.LinearForward(scratch.normed, weights[Role::kGate], weights[Role::kGateBias], kept.gate, rows, false);
  ops.LinearForward(scratch.normed, weights[Role::kUp], weights[Role::kUpBias], kept.up, rows, false);
  if (y == nullptr) return;
  ops.SwiGluForward(kept.gate, kept.up, scratch.wide1, rows * config.intermediate);
  ops.LinearForward(scratch.wide1, weights[Role::kDown], weights[Role::kDownBias], y, rows, false);
  ops.Add(kept.mid, y, rows * config.hidden);
}

}  // namespace tidemill::model
