// A weight matrix turned into fp32 with rows and columns exchanged, sixteen by sixteen in registers. Matrix products
// want it: a right-hand side that is read along its rows is packed faster than one that is read across them.
//
// Host only: a GPU's products take either orientation.
#pragma once

#include "gpu/kernels/lanes.h"

namespace tidemill::gpu::TM_ISA {

// Rows r and r + distance exchange the off-diagonal blocks of that width. Four rounds (8, 4, 2, 1) transpose.
template <int distance>
TM_INLINE void ExchangeBlocks(F16 (&rows)[16]) {
  using Mask = I16;
  Mask low{}, high{};
  for (int lane = 0; lane < 16; ++lane) {
    const bool second = (lane & distance) != 0;
    low[lane] = second ? 16 + lane - distance : lane;
    high[lane] = second ? 16 + lane : lane + distance;
  }
  for (int r = 0; r < 16; ++r) {
    if ((r & distance) != 0) continue;
    const F16 a = rows[r], b = rows[r + distance];
    rows[r] = __builtin_shuffle(a, b, low);
    rows[r + distance] = __builtin_shuffle(a, b, high);
  }
}

// to[c * to_stride + r] = from[r * from_stride + c] for r < rows <= 16 and all columns.
template <typename T>
void TransposeSixteenRows(const T* from, int64_t from_stride, int64_t rows, int64_t cols, float* to,
                          int64_t to_stride) {
  for (int64_t first = 0; first < cols; first += 16) {
    const int64_t width = cols - first < 16 ? cols - first : 16;
    F16 block[16];
    for (int r = 0; r < 16; ++r) {
      const T* const source = from + r * from_stride + first;
      block[r] = r >= rows ? F16{} : width == 16 ? LoadLanes(source) : LoadLanes(source, width);
    }
    ExchangeBlocks<8>(block);
    ExchangeBlocks<4>(block);
    ExchangeBlocks<2>(block);
    ExchangeBlocks<1>(block);
    for (int c = 0; c < 16; ++c) {
      if (c >= width) break;
      float* const target = to + (first + c) * to_stride;
      if (rows == 16) {
        StoreLanes(target, block[c]);
      } else {
        StoreLanes(target, block[c], rows);
      }
    }
  }
}

}  // namespace tidemill::gpu::TM_ISA
