// One decoder layer, forward and backward, by hand over views: nothing but operations given to a stream.
//
//   n1  = RMSNorm(x)          q, k, v = n1 Wq^T, n1 Wk^T, n1 Wv^T (+ biases; per-head RMSNorm; RoPE)
//   mid = x + attention(q, k, v) Wo^T
//   n2  = RMSNorm(mid)        y = mid + (silu(n2 Wgate^T) * (n2 Wup^T)) Wdown^T
//
//   Memory      the caller gives every pointer, device memory, 64-byte aligned. Activations are fp32 [rows, columns].
//   Kept        LayerForward leaves in `kept` what LayerBackward reads, KeptFloats(...) of it. Without recompute the
//               caller keeps that (or pages it out and in); with recompute it runs LayerForward again on the same x
//               with y = null just before LayerBackward: the same operations on the same bits, so the same gradients.
//   Scratch     LayerScratchFloats(...), undefined before and after; one size for forward and backward.
//   Sizes       are functions of the model and of rows alone, and never shrink when rows grows.
//   Errors      none: what cannot work aborts.
#pragma once

#include <array>
#include <cstdint>

#include "gpu/operations.h"
#include "model/batch_view.h"
#include "model/config.h"
#include "model/tensors.h"

namespace tidemill::model {

// By role; a tensor that the model lacks stays null.
struct LayerWeights {
  std::array<gpu::Weights, kLayerRoles> of;
  gpu::Weights& operator[](Role role) { return of[static_cast<size_t>(role)]; }
  const gpu::Weights& operator[](Role role) const { return of[static_cast<size_t>(role)]; }
};

// By role; a frozen tensor's fold stays null, and its product is not computed.
struct LayerFolds {
  std::array<gpu::Fold, kLayerRoles> of;
  gpu::Fold& operator[](Role role) { return of[static_cast<size_t>(role)]; }
  const gpu::Fold& operator[](Role role) const { return of[static_cast<size_t>(role)]; }
};

int64_t KeptFloats(const ModelConfig& config, int64_t rows);
int64_t LayerScratchFloats(const ModelConfig& config, int64_t rows);

// x, y: [rows, hidden]; y == x is not allowed. y null: only `kept` is made (recompute).
void LayerForward(gpu::Operations& ops, const ModelConfig& config, int64_t layer, const LayerWeights& weights,
                  const BatchView& batch, const float* x, float* y, float* kept, float* scratch);

// d: in, the gradient of the loss by y; out, by x. [rows, hidden].
void LayerBackward(gpu::Operations& ops, const ModelConfig& config, int64_t layer, const LayerWeights& weights,
                   const BatchView& batch, const float* x, float* d, const float* kept, const LayerFolds& folds,
                   float* scratch);

// Generation: one sequence, batch.rows new tokens after `cached` ones. Their keys and values are written to the rows
// cached .. cached + rows - 1 of k_cache and v_cache [capacity, kv_heads * head_dim], and attention reads all of them:
// batch.sequences has query_offsets {0, rows} and key_offsets {0, cached + rows}; batch.positions start at `cached`.
// rows >= 1 is any number: a whole prompt, or one token. Scratch: CachedScratchFloats(...).
int64_t CachedScratchFloats(const ModelConfig& config, int64_t rows);
void LayerForwardCached(gpu::Operations& ops, const ModelConfig& config, int64_t layer, const LayerWeights& weights,
                        const BatchView& batch, const float* x, float* y, float* k_cache, float* v_cache,
                        int64_t cached, float* scratch);

}  // namespace tidemill::model
