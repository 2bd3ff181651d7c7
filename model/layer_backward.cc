#include "base/check.h"
#include "model/layer.h"
#include "model/layer_memory.h"

namespace tidemill::model {
namespace {

// The arguments of LayerBackward, and its steps from the layer's end to its start.
struct Backward {
  gpu::Operations& ops;
  const ModelConfig& config;
  const LayerWeights& weights;
  const BatchView& batch;
  const LayerFolds& folds;
  KeptView kept;
  ScratchView scratch;

  // The gradients of a linear layer's weights and bias, if any is wanted.
  void FoldLinear(Role role, const float* input, const float* d_output) const {
    const gpu::Fold dw = folds[role], dbias = folds[static_cast<Role>(static_cast<uint8_t>(role) + 1)];
    if (dw.data == nullptr && dbias.data == nullptr) return;
    ops.LinearBackwardWeights(input, d_output, weights[role].cols, weights[role].rows, dw, dbias, batch.rows);
  }

  // d becomes the gradient by mid, from that by y.
  void Mlp(float* d) const {
    const int64_t rows = batch.rows, wide = rows * config.intermediate;
    float *const act = scratch.wide1, *const d_gate = scratch.wide1, *const d_up = scratch.wide2;
    ops.LinearBackwardInput(d, weights[Role::kDown], scratch.wide2, rows, false);
    if (folds[Role::kDown].data != nullptr || folds[Role::kDownBias].data != nullptr) {
      ops.SwiGluForward(kept.gate, kept.up, act, wide);
      FoldLinear(Role::kDown, act, d);
    }
    ops.SwiGluBackward(kept.gate, kept.up, scratch.wide2, d_gate, d_up, wide);

    ops.RmsNormForward(kept.mid, weights[Role::kPostNorm], config.rms_epsilon, scratch.normed, scratch.inverse_rms,
                       rows, config.hidden);
    FoldLinear(Role::kGate, scratch.normed, d_gate);
    FoldLinear(Role::kUp, scratch.normed, d_up);
    ops.LinearBackwardInput(d_gate, weights[Role::kGate], scratch.d_normed, rows, false);
    ops.LinearBackwardInput(d_up, weights[Role::kUp], scratch.d_normed, rows, true);
    ops.RmsNormBackward(kept.mid, weights[Role::kPostNorm], kept.inverse_rms2, scratch.d_normed, d, true,
                        folds[Role::kPostNorm], rows, config.hidden);
  }

  // From the gradient of rotated queries or keys to that of the projection's output, in place.
  void Unrotate(float* d, int64_t heads, const float* raw, const float* inverse, Role norm) const {
    ops.Rope(d, batch.positions, batch.cosines, batch.sines, batch.rows, static_cast<int32_t>(heads),
             static_cast<int32_t>(config.head_dim), true);
    if (!config.qk_norm) return;
    ops.RmsNormBackward(raw, weights[norm], inverse, d, d, false, folds[norm], batch.rows * heads, config.head_dim);
  }

  // d becomes the gradient by x, from that by mid.
  void Attention(int64_t layer, const float* x, float* d) const {
    const int64_t rows = batch.rows;
    FoldLinear(Role::kO, kept.o, d);
    ops.LinearBackwardInput(d, weights[Role::kO], scratch.d_o, rows, false);
    ops.AttentionBackward(AttentionShapeOf(config, layer), batch.sequences, kept.q, kept.k, kept.v, kept.o, kept.lse,
                          scratch.d_o, scratch.dq, scratch.dk, scratch.dv);
    Unrotate(scratch.dq, config.heads, kept.raw_q, kept.inverse_q, Role::kQNorm);
    Unrotate(scratch.dk, config.kv_heads, kept.raw_k, kept.inverse_k, Role::kKNorm);

    ops.RmsNormForward(x, weights[Role::kInputNorm], config.rms_epsilon, scratch.normed, scratch.inverse_rms, rows,
                       config.hidden);
    FoldLinear(Role::kQ, scratch.normed, scratch.dq);
    FoldLinear(Role::kK, scratch.normed, scratch.dk);
    FoldLinear(Role::kV, scratch.normed, scratch.dv);
    ops.LinearBackwardInput(scratch.dq, weights[Role::kQ], scratch.d_normed, rows, false);
    ops.LinearBackwardInput(scratch.dk, weights[Role::kK], scratch.d_normed, rows, true);
    ops.LinearBackwardInput(scratch.dv, weights[Role::kV], scratch.d_normed, rows, true);
    ops.RmsNormBackward(x, weights[Role::kInputNorm], kept.inverse_rms1, scratch.d_normed, d, true,
                        folds[Role::kInputNorm], rows, config.hidden);
  }
};

}  // namespace

void LayerBackward(gpu::Operations& ops, const ModelConfig& config, int64_t layer, const LayerWeights& weights,
                   const BatchView& batch, const float* x, float* d, const float* kept, const LayerFolds& folds,
                   float* scratch) {
  TM_CHECK(kept != nullptr && scratch != nullptr && x != d);
  // KeptView serves the pass that writes too; nothing here writes to it.
  const Backward backward{ops,
                          config,
                          weights,
                          batch,
                          folds,
                          KeptView(config, batch.rows, const_cast<float*>(kept)),
                          ScratchView(config, batch.rows, scratch)};
  backward.Mlp(d);
  backward.Attention(layer, x, d);
}

}  // namespace tidemill::model
