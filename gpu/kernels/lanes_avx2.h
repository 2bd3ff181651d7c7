// What lanes.h cannot say with operators, for one register of AVX2 with FMA.
#pragma once

#include <immintrin.h>

#include "gpu/kernels/lane_pack.h"

namespace tidemill::gpu::TM_ISA {

using FloatRegister = float __attribute__((vector_size(32)));

TM_INLINE FloatRegister FmaRegister(FloatRegister a, FloatRegister b, FloatRegister c) {
  return _mm256_fmadd_ps(a, b, c);
}
TM_INLINE FloatRegister SqrtRegister(FloatRegister a) { return _mm256_sqrt_ps(a); }
TM_INLINE FloatRegister MaxRegister(FloatRegister a, FloatRegister b) { return _mm256_max_ps(a, b); }
TM_INLINE FloatRegister MinRegister(FloatRegister a, FloatRegister b) { return _mm256_min_ps(a, b); }
TM_INLINE FloatRegister LessRegister(FloatRegister a, FloatRegister b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }

}  // namespace tidemill::gpu::TM_ISA
