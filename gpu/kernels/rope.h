// Rotary embedding of one row of heads, half-split: (a, b) = (x[i], x[i + half]) -> (a c - b s, b c + a s). Su et al.,
// "RoFormer" (2021), in the layout of Hugging Face. `sign` -1 rotates back.
#pragma once

#include "gpu/kernels/row_group.h"

namespace tidemill::gpu::TM_ISA {

template <typename Group>
void Rope(Group group, float* x, const float* cosines, const float* sines, int32_t heads, int32_t head_dim,
          float sign) {
  const int64_t half = head_dim / 2;
  for (int64_t i = 0; i < half; i += group.size()) {
    const auto c = group.Load(cosines, i, half);
    const auto s = group.Load(sines, i, half) * sign;
    for (int32_t head = 0; head < heads; ++head) {
      float* const low = x + static_cast<int64_t>(head) * head_dim;
      float* const high = low + half;
      const auto a = group.Load(low, i, half), b = group.Load(high, i, half);
      group.Store(low, i, half, a * c - b * s);
      group.Store(high, i, half, b * c + a * s);
    }
  }
}

}  // namespace tidemill::gpu::TM_ISA
