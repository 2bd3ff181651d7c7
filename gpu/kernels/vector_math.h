// exp and log for a float or for 16 lanes of them (T = float or F16), the same bits for both and on every instruction
// set: polynomials in written-out fused multiply-adds. The coefficients are minimax fits of relative error made for
// this file (exp: 3e-9 over |r| <= 0.3477; log: 1e-9 over 2/3 .. 4/3), so that rounding is what is left.
//
//   Exp   within 1.02 ulp, one unit of the least subnormal below normal results; inf above 88.73, 0 below -104; NaN
//         stays.
//   Log   within 1 ulp; -inf at 0, NaN below 0, inf stays, NaN stays. Subnormal arguments are right too.
//
// Include only from files under PER_ISA (gpu/kernels/isa.h).
#pragma once

#include <limits>

#include "gpu/kernels/lanes.h"

namespace tidemill::gpu::TM_ISA {

// ln 2 in two parts; the high one has 15 trailing zero bits, so its product with an exponent is exact.
inline constexpr float kLn2High = 0x1.62e4p-1F, kLn2Low = 0x1.7f7d1cp-20F;

// x = n ln 2 + r, exp(x) = 2^n exp(r). 2^n is multiplied in as two factors: n runs from -150 to 128, beyond one float.
template <typename T>
TM_INLINE T Exp(T x) {
  x = Min(Set<T>(89.0F), Max(Set<T>(-104.0F), x));  // in this order of operands NaN stays
  constexpr float kRound = 0x1.8p23F;               // adding it leaves the nearest integer in the low bits
  const T shifted = Fma(x, Set<T>(0x1.715476p+0F), Set<T>(kRound));
  const auto n = Bits(shifted) - Bits(kRound);
  const T whole = shifted - kRound;
  const T r = Fma(whole, Set<T>(-kLn2Low), Fma(whole, Set<T>(-kLn2High), x));
  T p = Set<T>(0x1.6a2148p-10F);
  p = Fma(p, r, Set<T>(0x1.123ba6p-7F));
  p = Fma(p, r, Set<T>(0x1.5558fcp-5F));
  p = Fma(p, r, Set<T>(0x1.55548ep-3F));
  p = Fma(p, r, Set<T>(0x1.fffffcp-2F));
  p = Fma(r * r, p, r) + 1.0F;
  const auto half = n >> 1;
  return p * FromBits((half + 127) << 23) * FromBits((n - half + 127) << 23);
}

// x = 2^e m with m in [2/3, 4/3), f = m - 1: log(x) = e ln 2 + f - f^2 / 2 + f^3 P(f).
template <typename T>
TM_INLINE T Log(T x) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kLeastNormal = std::numeric_limits<float>::min();
  const auto subnormal = Less(x, Set<T>(kLeastNormal));
  const T normal = Select(subnormal, x * 0x1p24F, x);
  constexpr int32_t kTwoThirds = 0x3f2aaaab;
  const auto bits = Bits(normal) & 0x7fffffff;  // a negative x is answered at the end
  const auto e = (bits - kTwoThirds) >> 23;
  const T exponent = ToFloat(e) - Select(subnormal, Set<T>(24.0F), Set<T>(0.0F));
  const T f = FromBits(bits - (e << 23)) - 1.0F;
  T p = Set<T>(0x1.ecacb6p-4F);
  p = Fma(p, f, Set<T>(-0x1.077b4p-3F));
  p = Fma(p, f, Set<T>(0x1.b84b48p-4F));
  p = Fma(p, f, Set<T>(-0x1.f35ee4p-4F));
  p = Fma(p, f, Set<T>(0x1.24f682p-3F));
  p = Fma(p, f, Set<T>(-0x1.559a5ep-3F));
  p = Fma(p, f, Set<T>(0x1.99977p-3F));
  p = Fma(p, f, Set<T>(-0x1.ffff08p-3F));
  p = Fma(p, f, Set<T>(0x1.555558p-2F));
  const T tail = Fma(f * f, Fma(p, f, Set<T>(-0.5F)), exponent * kLn2Low);
  T y = Fma(exponent, Set<T>(kLn2High), f + tail);
  y = Select(Less(Set<T>(0.0F), x), y, Set<T>(std::numeric_limits<float>::quiet_NaN()));
  y = Select(Less(Max(x, -x), Set<T>(std::numeric_limits<float>::denorm_min())), Set<T>(-kInfinity), y);
  return Select(Less(x, Set<T>(kInfinity)), y, x);  // infinity and NaN as they came
}

}  // namespace tidemill::gpu::TM_ISA
