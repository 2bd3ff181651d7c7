// What lanes.h cannot say with operators, for AVX2 and FMA.
#pragma once

#include <immintrin.h>

namespace tidemill::gpu::TM_ISA {

inline constexpr int kRegisterFloats = 8;

struct Halves {
  __m256 low, high;
};

TM_INLINE F16 Fma(F16 a, F16 b, F16 c) {
  const auto x = std::bit_cast<Halves>(a), y = std::bit_cast<Halves>(b), z = std::bit_cast<Halves>(c);
  return std::bit_cast<F16>(Halves{_mm256_fmadd_ps(x.low, y.low, z.low), _mm256_fmadd_ps(x.high, y.high, z.high)});
}

TM_INLINE F16 Sqrt(F16 a) {
  const auto x = std::bit_cast<Halves>(a);
  return std::bit_cast<F16>(Halves{_mm256_sqrt_ps(x.low), _mm256_sqrt_ps(x.high)});
}

TM_INLINE F16 Max(F16 a, F16 b) {
  const auto x = std::bit_cast<Halves>(a), y = std::bit_cast<Halves>(b);
  return std::bit_cast<F16>(Halves{_mm256_max_ps(x.low, y.low), _mm256_max_ps(x.high, y.high)});
}

TM_INLINE F16 Min(F16 a, F16 b) {
  const auto x = std::bit_cast<Halves>(a), y = std::bit_cast<Halves>(b);
  return std::bit_cast<F16>(Halves{_mm256_min_ps(x.low, y.low), _mm256_min_ps(x.high, y.high)});
}

TM_INLINE I16 Less(F16 a, F16 b) {
  const auto x = std::bit_cast<Halves>(a), y = std::bit_cast<Halves>(b);
  return std::bit_cast<I16>(Halves{_mm256_cmp_ps(x.low, y.low, _CMP_LT_OQ), _mm256_cmp_ps(x.high, y.high, _CMP_LT_OQ)});
}

}  // namespace tidemill::gpu::TM_ISA
