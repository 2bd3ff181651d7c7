// What lanes.h cannot say with operators, for one register of AVX-512. The masked forms, all lanes on, are the plain
// instructions; GCC 12 warns about its own header in the unmasked ones.
#pragma once

#include <immintrin.h>

#include "gpu/kernels/lane_pack.h"

namespace tidemill::gpu::TM_ISA {

using FloatRegister = float __attribute__((vector_size(64)));
inline constexpr __mmask16 kAllLanes = 0xffff;

TM_INLINE FloatRegister FmaRegister(FloatRegister a, FloatRegister b, FloatRegister c) {
  return _mm512_fmadd_ps(a, b, c);
}
TM_INLINE FloatRegister SqrtRegister(FloatRegister a) { return _mm512_mask_sqrt_ps(a, kAllLanes, a); }
TM_INLINE FloatRegister MaxRegister(FloatRegister a, FloatRegister b) { return _mm512_mask_max_ps(a, kAllLanes, a, b); }
TM_INLINE FloatRegister MinRegister(FloatRegister a, FloatRegister b) { return _mm512_mask_min_ps(a, kAllLanes, a, b); }
TM_INLINE auto LessRegister(FloatRegister a, FloatRegister b) {
  return _mm512_movm_epi32(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ));
}

}  // namespace tidemill::gpu::TM_ISA
