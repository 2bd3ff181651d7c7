// y += x, and bf16 weights widened to the fp32 that the arithmetic uses.
#pragma once

#include "gpu/kernels/row_group.h"

namespace tidemill::gpu::TM_ISA {

template <typename Group>
void Add(Group group, const float* x, float* y, int64_t count) {
  for (int64_t i = 0; i < count; i += group.size())
    group.Store(y, i, count, group.Load(y, i, count) + group.Load(x, i, count));
}

template <typename Group>
void WidenBf16(Group group, const uint16_t* x, float* y, int64_t count) {
  for (int64_t i = 0; i < count; i += group.size()) group.Store(y, i, count, group.Load(x, i, count));
}

}  // namespace tidemill::gpu::TM_ISA
