// The backward pass of gpu/kernels/attention_block.h.
//
//   P = exp(scale S - lse)        dV += P^T dO        dP = dO V^T
//   dS = scale P (dP - delta)     dQ += dS K          dK += dS^T Q         delta = row sums of dO * O
//
// S, P, dP and dS are kept transposed, [keys, queries], as in the forward pass.
#include "gpu/kernels/attention_lanes.h"
#include "gpu/kernels/attention_multiply.h"
#include "gpu/kernels/vector_math.h"

namespace tidemill::gpu::TM_ISA {
namespace {

// The parts of a block's scratch, laid out for `width` = 16 or 32 lanes of queries.
struct BackwardScratch {
  int64_t width, padded;
  float *turned_q, *turned_do, *turned_dq;  // [head_dim, width]
  float *q, *d_o;                           // [queries, padded], zero beyond head_dim
  float *p, *ds;                            // [kKeyBlock, width]
  float *lse, *delta;                       // [width]
};

inline BackwardScratch Layout(const AttentionBlock& block, float* scratch) {
  BackwardScratch s{};
  s.width = block.queries <= kLanes ? kLanes : 2 * kLanes;
  s.padded = (block.head_dim + kLanes - 1) / kLanes * kLanes;
  const auto take = [&scratch](int64_t floats) { return scratch += floats, scratch - floats; };
  s.turned_q = take(block.head_dim * s.width);
  s.turned_do = take(block.head_dim * s.width);
  s.turned_dq = take(block.head_dim * s.width);
  s.q = take(kQueryBlock * s.padded);
  s.d_o = take(kQueryBlock * s.padded);
  s.p = take(kKeyBlock * s.width);
  s.ds = take(kKeyBlock * s.width);
  s.lse = take(s.width);
  s.delta = take(s.width);
  return s;
}

void BackwardBegin(const AttentionBlock& block, const AttentionGradients& grads, float* scratch) {
  const BackwardScratch s = Layout(block, scratch);
  const int64_t dim = block.head_dim, stride = block.q_stride;
  Turn(block.q, stride, block.queries, dim, s.width, s.turned_q);
  Turn(grads.d_o, stride, block.queries, dim, s.width, s.turned_do);
  for (int64_t i = 0; i < dim * s.width; ++i) s.turned_dq[i] = 0;
  for (int64_t i = 0; i < s.width; ++i) s.lse[i] = s.delta[i] = 0;
  for (int64_t i = 0; i < block.queries; ++i) {
    F16 product = {};
    for (int64_t d = 0; d < dim; d += kLanes) {
      const int64_t count = dim - d < kLanes ? dim - d : kLanes;
      const F16 grad = LoadLanes(grads.d_o + i * stride + d, count);
      StoreLanes(s.d_o + i * s.padded + d, grad);
      StoreLanes(s.q + i * s.padded + d, LoadLanes(block.q + i * stride + d, count));
      product = Fma(grad, LoadLanes(grads.o + i * stride + d, count), product);
    }
    s.delta[i] = SumLanes(product);
    s.lse[i] = grads.lse[i * grads.lse_stride];
  }
}

// p and ds of one key block, from p = S^T and ds = dP^T.
template <int C, bool kMasked>
inline void ScoreGradients(const AttentionBlock& block, KeyRange keys, const BackwardScratch& s) {
  const Mask mask{block};
  for (int c = 0; c < C; ++c) {
    const F16 lse = LoadLanes(s.lse + kLanes * c), delta = LoadLanes(s.delta + kLanes * c);
    for (int64_t j = keys.begin; j < keys.end; ++j) {
      const int64_t at = (j - keys.begin) * kLanes * C + kLanes * c;
      F16 p = Exp(LoadLanes(s.p + at) * block.scale - lse);
      if constexpr (kMasked) p = Select(mask.Visible(j, c), p, F16{});
      StoreLanes(s.p + at, p);
      StoreLanes(s.ds + at, p * (LoadLanes(s.ds + at) - delta) * block.scale);
    }
  }
}

template <int C>
void ScoresColumns(const AttentionBlock& block, int64_t key_block, const BackwardScratch& s) {
  constexpr int64_t kWidth = kLanes * C;
  const KeyRange keys = KeysOf(block, key_block);
  const int64_t rows = keys.end - keys.begin, offset = keys.begin * block.kv_stride, dim = block.head_dim;
  Multiply<C, false>(Overwrite{}, block.k + offset, block.kv_stride, s.turned_q, kWidth, dim, s.p, kWidth, rows);
  Multiply<C, false>(Overwrite{}, block.v + offset, block.kv_stride, s.turned_do, kWidth, dim, s.ds, kWidth, rows);
  if (Mask{block}.Needed(keys)) {
    ScoreGradients<C, true>(block, keys, s);
  } else {
    ScoreGradients<C, false>(block, keys, s);
  }
  Multiply<C, true>(AddTo{}, block.k + offset, block.kv_stride, s.ds, kWidth, rows, s.turned_dq, kWidth, dim);
}

void BackwardScores(const AttentionBlock& block, int64_t key_block, float* scratch) {
  const BackwardScratch s = Layout(block, scratch);
  s.width == kLanes ? ScoresColumns<1>(block, key_block, s) : ScoresColumns<2>(block, key_block, s);
}

// out[keys, head_dim] += weights[keys, queries] x[queries, padded]
inline void AddProduct(const AttentionBlock& block, const BackwardScratch& s, const float* weights, const float* x,
                       float* out, int64_t rows) {
  int64_t d = 0;
  for (; d + 2 * kLanes <= block.head_dim; d += 2 * kLanes) {
    Multiply<2, false>(AddTo{}, weights, s.width, x + d, s.padded, block.queries, out + d, block.kv_stride, rows);
  }
  for (; d < block.head_dim; d += kLanes) {
    const int64_t count = block.head_dim - d < kLanes ? block.head_dim - d : kLanes;
    Multiply<1, false>(AddToSome{count}, weights, s.width, x + d, s.padded, block.queries, out + d, block.kv_stride,
                       rows);
  }
}

void BackwardAddToKeys(const AttentionBlock& block, const AttentionGradients& grads, int64_t key_block,
                       float* scratch) {
  const BackwardScratch s = Layout(block, scratch);
  const KeyRange keys = KeysOf(block, key_block);
  const int64_t rows = keys.end - keys.begin, offset = keys.begin * block.kv_stride;
  AddProduct(block, s, s.p, s.d_o, grads.dv + offset, rows);
  AddProduct(block, s, s.ds, s.q, grads.dk + offset, rows);
}

void BackwardEnd(const AttentionBlock& block, const AttentionGradients& grads, float* scratch) {
  const BackwardScratch s = Layout(block, scratch);
  for (int64_t i = 0; i < block.queries; ++i)
    for (int64_t d = 0; d < block.head_dim; ++d) grads.dq[i * block.q_stride + d] = s.turned_dq[d * s.width + i];
}

}  // namespace

extern const AttentionBackwardKernels kAttentionBackward;
const AttentionBackwardKernels kAttentionBackward = {BackwardBegin, BackwardScores, BackwardAddToKeys, BackwardEnd};

}  // namespace tidemill::gpu::TM_ISA
