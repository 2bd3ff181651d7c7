// The forward pass of gpu/kernels/attention_block.h.
#include "gpu/kernels/attention_lanes.h"
#include "gpu/kernels/attention_multiply.h"
#include "gpu/kernels/vector_math.h"

namespace tidemill::gpu::TM_ISA {
namespace {

constexpr float kLowest = -3.402823466e38F;  // below every score, and finite: kLowest - kLowest is 0

// Scores become exp(score - maximum); maximum, sum and the factor of what was summed before are updated.
template <int C, bool kMasked>
inline void Softmax(const AttentionBlock& block, KeyRange keys, float* scores, float* maximum, float* sum,
                    float* factor) {
  constexpr int64_t kWidth = kLanes * C;
  const Mask mask{block};
  for (int c = 0; c < C; ++c) {
    const F16 old = LoadLanes(maximum + kLanes * c);
    F16 top = old;
    for (int64_t j = keys.begin; j < keys.end; ++j) {
      F16 s = LoadLanes(scores + (j - keys.begin) * kWidth + kLanes * c) * block.scale;
      if constexpr (kMasked) s = Select(mask.Visible(j, c), s, Set<F16>(kLowest));
      top = Max(s, top);
    }
    F16 total = {};
    for (int64_t j = keys.begin; j < keys.end; ++j) {
      float* at = scores + (j - keys.begin) * kWidth + kLanes * c;
      F16 p = Exp(LoadLanes(at) * block.scale - top);
      if constexpr (kMasked) p = Select(mask.Visible(j, c), p, F16{});
      total += p;
      StoreLanes(at, p);
    }
    const F16 alpha = Exp(old - top);
    StoreLanes(factor + kLanes * c, alpha);
    StoreLanes(maximum + kLanes * c, top);
    StoreLanes(sum + kLanes * c, Fma(LoadLanes(sum + kLanes * c), alpha, total));
  }
}

template <int C>
void ForwardColumns(const AttentionBlock& block, float* o, float* lse, int64_t lse_stride, float* scratch) {
  constexpr int64_t kWidth = kLanes * C;
  const int64_t dim = block.head_dim;
  float *const turned_q = scratch, *const turned_o = turned_q + dim * kWidth, *const p = turned_o + dim * kWidth;
  float maximum[kWidth], sum[kWidth], factor[kWidth];
  for (int64_t i = 0; i < kWidth; ++i) maximum[i] = kLowest, sum[i] = 0;
  for (int64_t i = 0; i < dim * kWidth; ++i) turned_o[i] = 0;
  Turn(block.q, block.q_stride, block.queries, dim, kWidth, turned_q);

  for (int64_t kb = block.first_key_block(); kb <= block.last_key_block(); ++kb) {
    const KeyRange keys = KeysOf(block, kb);
    const int64_t rows = keys.end - keys.begin, offset = keys.begin * block.kv_stride;
    Multiply<C, false>(Overwrite{}, block.k + offset, block.kv_stride, turned_q, kWidth, dim, p, kWidth, rows);
    if (Mask{block}.Needed(keys)) {
      Softmax<C, true>(block, keys, p, maximum, sum, factor);
    } else {
      Softmax<C, false>(block, keys, p, maximum, sum, factor);
    }
    Multiply<C, true>(Rescale{factor}, block.v + offset, block.kv_stride, p, kWidth, rows, turned_o, kWidth, dim);
  }
  for (int64_t i = 0; i < block.queries; ++i) {
    const float inverse = 1.0F / sum[i];
    for (int64_t d = 0; d < dim; ++d) o[i * block.q_stride + d] = turned_o[d * kWidth + i] * inverse;
    lse[i * lse_stride] = maximum[i] + Log(sum[i]);
  }
}

void Forward(const AttentionBlock& block, float* o, float* lse, int64_t lse_stride, float* scratch) {
  block.queries <= kLanes ? ForwardColumns<1>(block, o, lse, lse_stride, scratch)
                          : ForwardColumns<2>(block, o, lse, lse_stride, scratch);
}

}  // namespace

extern const AttentionForwardKernels kAttentionForward;
const AttentionForwardKernels kAttentionForward = {Forward};

}  // namespace tidemill::gpu::TM_ISA
