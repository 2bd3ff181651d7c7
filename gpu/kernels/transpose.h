// A weight matrix turned into fp32 with rows and columns exchanged, a register-sized square at a time. Matrix products
// want it: a right-hand side that is read along its rows is packed faster than one that is read across them.
//
// Host only: a GPU's products take either orientation.
#pragma once

#include "gpu/kernels/lanes.h"

namespace tidemill::gpu::TM_ISA {

inline constexpr int kSide = kRegisterFloats;  // of the square
using Row = FloatRegister;

// Rows r and r + distance exchange the off-diagonal blocks of that width. Distances side / 2, ..., 2, 1 transpose.
template <int distance>
TM_INLINE void ExchangeBlocks(Row (&rows)[kSide]) {
  IntRegister low{}, high{};
  for (int lane = 0; lane < kSide; ++lane) {
    const bool second = (lane & distance) != 0;
    low[lane] = second ? kSide + lane - distance : lane;
    high[lane] = second ? kSide + lane : lane + distance;
  }
  for (int r = 0; r < kSide; ++r) {
    if ((r & distance) != 0) continue;
    const Row a = rows[r], b = rows[r + distance];
    rows[r] = __builtin_shuffle(a, b, low);
    rows[r + distance] = __builtin_shuffle(a, b, high);
  }
}

TM_INLINE float ToFloat32(float value) { return value; }
TM_INLINE float ToFloat32(uint16_t bf16) { return FromBits(int32_t{bf16} << 16); }

// to[c * to_stride + r] = from[r * from_stride + c] for r, c < kSide.
template <typename T>
TM_INLINE void TransposeSquare(const T* from, int64_t from_stride, float* to, int64_t to_stride) {
  Row rows[kSide];
  for (int r = 0; r < kSide; ++r) {
    for (int c = 0; c < kSide; ++c) rows[r][c] = ToFloat32(from[r * from_stride + c]);
  }
  if constexpr (kSide >= 16) ExchangeBlocks<8>(rows);
  if constexpr (kSide >= 8) ExchangeBlocks<4>(rows);
  ExchangeBlocks<2>(rows);
  ExchangeBlocks<1>(rows);
  for (int c = 0; c < kSide; ++c) std::memcpy(to + c * to_stride, &rows[c], sizeof(Row));
}

// The same for any number of rows and columns. Down the rows first: what is written is then written in long runs.
template <typename T>
void Transpose(const T* from, int64_t from_stride, int64_t rows, int64_t cols, float* to, int64_t to_stride) {
  const int64_t whole_rows = rows / kSide * kSide, whole_cols = cols / kSide * kSide;
  for (int64_t c = 0; c < whole_cols; c += kSide) {
    for (int64_t r = 0; r < whole_rows; r += kSide)
      TransposeSquare(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = r < whole_rows ? whole_cols : 0; c < cols; ++c)
      to[c * to_stride + r] = ToFloat32(from[r * from_stride + c]);
  }
}

}  // namespace tidemill::gpu::TM_ISA
