// Small matrix products whose right side is a few lanes wide: the inner loops of attention.
//
// Each sum runs in an order of its own, over k, that no tile shape changes: the bits are the same on every instruction
// set. Include only from files under PER_ISA (gpu/kernels/isa.h).
#pragma once

#include "gpu/kernels/lanes.h"

namespace tidemill::gpu::TM_ISA {

// How many rows of C lanes of results the registers hold beside the operands.
#if defined(__AVX512F__)
inline constexpr int kTileRows[] = {0, 16, 8};
#elif defined(__AVX2__)
inline constexpr int kTileRows[] = {0, 6, 3};
#else
inline constexpr int kTileRows[] = {0, 2, 1};
#endif

// acc[r][c] += sum over k of A(r, k) * b[k * ldb + 16 c ..]. A is read row by row, a[r * lda + k], or, turned,
// a[k * lda + r].
template <int R, int C, bool kTurned>
inline void Accumulate(const float* a, int64_t lda, const float* b, int64_t ldb, int64_t depth, F16 (&acc)[R][C]) {
  for (int64_t k = 0; k < depth; ++k) {
    F16 row[C];
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) row[c] = LoadLanes(b + k * ldb + kLanes * c);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const F16 x = Set<F16>(kTurned ? a[k * lda + r] : a[r * lda + k]);
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) acc[r][c] = Fma(x, row[c], acc[r][c]);
    }
  }
}

// What becomes of the old content of the output.
struct Overwrite {
  static F16 Start(const float*, int64_t) { return F16{}; }
  static void Finish(float* to, F16 value, int64_t) { StoreLanes(to, value); }
};
struct Rescale {  // out = out * factor + product; one factor per column
  const float* factors;
  F16 Start(const float* from, int64_t column) const { return LoadLanes(from) * LoadLanes(factors + column); }
  static void Finish(float* to, F16 value, int64_t) { StoreLanes(to, value); }
};
struct AddTo {
  static F16 Start(const float* from, int64_t) { return LoadLanes(from); }
  static void Finish(float* to, F16 value, int64_t) { StoreLanes(to, value); }
};
struct AddToSome {  // the last columns, fewer than 16
  int64_t count;
  F16 Start(const float* from, int64_t) const { return LoadLanes(from, count); }
  void Finish(float* to, F16 value, int64_t) const { StoreLanes(to, value, count); }
};

template <int R, int C, bool kTurned, typename Output>
inline void MultiplyTiles(const Output& output, const float* a, int64_t lda, const float* b, int64_t ldb, int64_t depth,
                          float* out, int64_t ldo, int64_t rows) {
  int64_t m = 0;
  for (; m + R <= rows; m += R) {
    F16 acc[R][C];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) acc[r][c] = output.Start(out + (m + r) * ldo + kLanes * c, kLanes * c);
    Accumulate<R, C, kTurned>(kTurned ? a + m : a + m * lda, lda, b, ldb, depth, acc);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) output.Finish(out + (m + r) * ldo + kLanes * c, acc[r][c], kLanes * c);
  }
  if constexpr (R > 1) {
    if (m < rows) {
      MultiplyTiles<R / 2, C, kTurned>(output, kTurned ? a + m : a + m * lda, lda, b, ldb, depth, out + m * ldo, ldo,
                                       rows - m);
    }
  }
}

// out[rows, 16 C] of stride ldo: `output` says how the product A b meets what is there.
template <int C, bool kTurned, typename Output>
inline void Multiply(const Output& output, const float* a, int64_t lda, const float* b, int64_t ldb, int64_t depth,
                     float* out, int64_t ldo, int64_t rows) {
  MultiplyTiles<kTileRows[C], C, kTurned>(output, a, lda, b, ldb, depth, out, ldo, rows);
}

}  // namespace tidemill::gpu::TM_ISA
