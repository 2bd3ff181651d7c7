// What lanes.h cannot say with operators, for AVX-512. The masked forms, all lanes on, are the plain instructions; GCC
// 12 warns about its own header in the unmasked ones.
#pragma once

#include <immintrin.h>

namespace tidemill::gpu::TM_ISA {

inline constexpr int kRegisterFloats = 16;

inline constexpr __mmask16 kAllLanes = 0xffff;

TM_INLINE F16 Fma(F16 a, F16 b, F16 c) {
  return std::bit_cast<F16>(
      _mm512_fmadd_ps(std::bit_cast<__m512>(a), std::bit_cast<__m512>(b), std::bit_cast<__m512>(c)));
}

TM_INLINE F16 Sqrt(F16 a) {
  return std::bit_cast<F16>(_mm512_mask_sqrt_ps(std::bit_cast<__m512>(a), kAllLanes, std::bit_cast<__m512>(a)));
}

TM_INLINE F16 Max(F16 a, F16 b) {
  return std::bit_cast<F16>(
      _mm512_mask_max_ps(std::bit_cast<__m512>(a), kAllLanes, std::bit_cast<__m512>(a), std::bit_cast<__m512>(b)));
}

TM_INLINE F16 Min(F16 a, F16 b) {
  return std::bit_cast<F16>(
      _mm512_mask_min_ps(std::bit_cast<__m512>(a), kAllLanes, std::bit_cast<__m512>(a), std::bit_cast<__m512>(b)));
}

TM_INLINE I16 Less(F16 a, F16 b) {
  return std::bit_cast<I16>(
      _mm512_movm_epi32(_mm512_cmp_ps_mask(std::bit_cast<__m512>(a), std::bit_cast<__m512>(b), _CMP_LT_OQ)));
}

}  // namespace tidemill::gpu::TM_ISA
