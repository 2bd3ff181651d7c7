// Element by element: y += x, a bias onto a row, bf16 widened to the fp32 of all arithmetic.
#pragma once

#include "gpu/kernels/row_group.h"

namespace tidemill::gpu::TM_ISA {

// y += x; x is float, or uint16_t for bf16.
template <typename Group, typename T>
void Add(Group group, const T* x, float* y, int64_t count) {
  for (int64_t i = 0; i < count; i += group.size())
    group.Store(y, i, count, group.Load(y, i, count) + group.Load(x, i, count));
}

template <typename Group>
void WidenBf16(Group group, const uint16_t* x, float* y, int64_t count) {
  for (int64_t i = 0; i < count; i += group.size()) group.Store(y, i, count, group.Load(x, i, count));
}

}  // namespace tidemill::gpu::TM_ISA
