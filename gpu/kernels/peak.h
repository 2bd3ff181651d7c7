// Fused multiply-adds on registers alone: what the vector units can do, for comparison.
#pragma once

#include "gpu/kernels/lanes.h"

namespace tidemill::gpu::TM_ISA {

// Enough independent chains to hide an addition's latency on two units, few enough to stay in the registers.
inline constexpr int kChains = kRegisterFloats == 16 ? 12 : 5;

// Returns the number of floating-point operations done.
inline double SpendFlops(int64_t rounds) {
  F16 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = Set<F16>(static_cast<float>(i));
  F16 factor = Set<F16>(0.5F);
  asm volatile("" : "+m"(factor));  // not a constant, for all that the compiler knows
  for (int64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < kChains; ++i) sums[i] = Fma(sums[i], factor, factor);
  }
  for (int i = 0; i < kChains; ++i) asm volatile("" : : "m"(sums[i]));  // used
  return 2.0 * kLanes * kChains * static_cast<double>(rounds);
}

}  // namespace tidemill::gpu::TM_ISA
