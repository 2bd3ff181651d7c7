// What lanes.h cannot say with operators, for one register of any processor.
#pragma once

#include <cmath>

#include "gpu/kernels/lane_pack.h"

namespace tidemill::gpu::TM_ISA {

using FloatRegister = float __attribute__((vector_size(16)));

TM_INLINE FloatRegister FmaRegister(FloatRegister a, FloatRegister b, FloatRegister c) {
  return FloatRegister{std::fma(a[0], b[0], c[0]), std::fma(a[1], b[1], c[1]), std::fma(a[2], b[2], c[2]),
                       std::fma(a[3], b[3], c[3])};
}
TM_INLINE FloatRegister SqrtRegister(FloatRegister a) {
  return FloatRegister{std::sqrt(a[0]), std::sqrt(a[1]), std::sqrt(a[2]), std::sqrt(a[3])};
}
TM_INLINE FloatRegister MaxRegister(FloatRegister a, FloatRegister b) { return a > b ? a : b; }
TM_INLINE FloatRegister MinRegister(FloatRegister a, FloatRegister b) { return a < b ? a : b; }
TM_INLINE auto LessRegister(FloatRegister a, FloatRegister b) { return a < b; }

}  // namespace tidemill::gpu::TM_ISA
