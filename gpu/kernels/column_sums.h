// Sums down the rows of a matrix: every thread of the group owns a column, so no thread waits for another.
//
// The order is fixed: kRowChunk rows one after another from zero, the chunks one after another onto the total. Chunks
// keep the rounding error of thousands of rows near that of a hundred.
#pragma once

#include "gpu/kernels/row_group.h"

namespace tidemill::gpu::TM_ISA {

inline constexpr int64_t kRowChunk = 64;

// `width` neighbouring groups of columns at once, from column i: the loads of one row share pages and prefetches.
// total[i ..] (+)= sum over rows of term(row, column).
template <int width, typename Group, typename Term>
TM_INLINE void SumColumnsAt(Group group, int64_t i, int64_t rows, int64_t cols, float* total, bool accumulate,
                            const Term& term) {
  using F = typename Group::F;
  F sums[width];
  for (int k = 0; k < width; ++k) sums[k] = accumulate ? group.Load(total, i + k * group.size(), cols) : Set<F>(0.0F);
  for (int64_t first = 0; first < rows; first += kRowChunk) {
    const int64_t last = first + kRowChunk < rows ? first + kRowChunk : rows;
    F part[width];
    for (int k = 0; k < width; ++k) part[k] = Set<F>(0.0F);
    for (int64_t row = first; row < last; ++row) {
      for (int k = 0; k < width; ++k) part[k] = part[k] + term(row, i + k * group.size());
    }
    for (int k = 0; k < width; ++k) sums[k] = sums[k] + part[k];
  }
  for (int k = 0; k < width; ++k) group.Store(total, i + k * group.size(), cols, sums[k]);
}

template <typename Group, typename Term>
TM_INLINE void SumColumns(Group group, int64_t rows, int64_t cols, float* total, bool accumulate, const Term& term) {
  constexpr int kWide = 4;
  int64_t i = 0;
  for (; i + kWide * group.size() <= cols; i += kWide * group.size())
    SumColumnsAt<kWide>(group, i, rows, cols, total, accumulate, term);
  for (; i < cols; i += group.size()) SumColumnsAt<1>(group, i, rows, cols, total, accumulate, term);
}

// A bias's gradient: total[cols] (+)= the column sums of x[rows, stride], first `cols` columns.
template <typename Group>
void BiasGradient(Group group, const float* x, int64_t rows, int64_t cols, int64_t stride, float* total,
                  bool accumulate) {
  SumColumns(group, rows, cols, total, accumulate,
             [&](int64_t row, int64_t i) { return group.Load(x + row * stride, i, cols); });
}

// An RMSNorm weight's gradient: dw (+)= sum over rows of dy x inverse_rms.
template <typename Group>
void RmsNormWeightGradient(Group group, const float* x, const float* dy, const float* inverse_rms, int64_t rows,
                           int64_t cols, int64_t stride, float* dw, bool accumulate) {
  SumColumns(group, rows, cols, dw, accumulate, [&](int64_t row, int64_t i) {
    return group.Load(dy + row * stride, i, cols) * (group.Load(x + row * stride, i, cols) * inverse_rms[row]);
  });
}

}  // namespace tidemill::gpu::TM_ISA
