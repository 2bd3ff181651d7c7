// Sixteen lanes of float, int32 or double, as GCC's vector types: + - * / & | << >> work lane by lane, with a scalar on
// either side too. What has no operator, or one that compiles badly (Fma, Sqrt, Max, Min, Less), comes from a sibling
// per instruction set, chosen by CMake (TM_LANES). All functions exist for plain scalars too: the same text serves one
// element and a lane.
//
//   Max(a, b)    a > b ? a : b, so b where either is NaN; Min likewise
//   Less(a, b)   a mask for Select(mask, yes, no)
//
// Include only from files under PER_ISA (gpu/kernels/isa.h).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "gpu/kernels/isa.h"

namespace tidemill::gpu::TM_ISA {

#define TM_INLINE [[gnu::always_inline]] inline

inline constexpr int64_t kLanes = 16;
using F16 = float __attribute__((vector_size(64)));
using I16 = int32_t __attribute__((vector_size(64)));
using D16 = double __attribute__((vector_size(128)));
using U16 = uint16_t __attribute__((vector_size(32)));  // bf16 storage

TM_INLINE float Fma(float a, float b, float c) { return std::fma(a, b, c); }
TM_INLINE float Sqrt(float a) { return std::sqrt(a); }
TM_INLINE float Max(float a, float b) { return a > b ? a : b; }
TM_INLINE float Min(float a, float b) { return a < b ? a : b; }
TM_INLINE bool Less(float a, float b) { return a < b; }
TM_INLINE float Select(bool mask, float yes, float no) { return mask ? yes : no; }

template <typename T>
TM_INLINE T Set(float value) {
  return T{} + value;
}

TM_INLINE int32_t Bits(float a) { return std::bit_cast<int32_t>(a); }
TM_INLINE float FromBits(int32_t a) { return std::bit_cast<float>(a); }
TM_INLINE I16 Bits(F16 a) { return std::bit_cast<I16>(a); }
TM_INLINE F16 FromBits(I16 a) { return std::bit_cast<F16>(a); }

TM_INLINE F16 Select(I16 mask, F16 yes, F16 no) { return FromBits((Bits(yes) & mask) | (Bits(no) & ~mask)); }

TM_INLINE float ToFloat(int32_t a) { return static_cast<float>(a); }
TM_INLINE F16 ToFloat(I16 a) { return __builtin_convertvector(a, F16); }
TM_INLINE D16 ToDouble(F16 a) { return __builtin_convertvector(a, D16); }

// The first 16, and the first `count` < 16 with zeros behind, from any address.
TM_INLINE F16 LoadLanes(const float* from) {
  F16 lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
TM_INLINE void StoreLanes(float* to, F16 lanes) { std::memcpy(to, &lanes, sizeof lanes); }
TM_INLINE F16 LoadLanes(const float* from, int64_t count) {
  F16 lanes{};
  for (int64_t i = 0; i < count; ++i) lanes[i] = from[i];
  return lanes;
}
TM_INLINE void StoreLanes(float* to, F16 lanes, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = lanes[i];
}

// Sixteen-bit storage, zero-extended; stored without the upper half.
TM_INLINE I16 LoadHalves(const uint16_t* from) {
  U16 halves;
  std::memcpy(&halves, from, sizeof halves);
  return __builtin_convertvector(halves, I16);
}
TM_INLINE I16 LoadHalves(const uint16_t* from, int64_t count) {
  I16 lanes{};
  for (int64_t i = 0; i < count; ++i) lanes[i] = from[i];
  return lanes;
}
TM_INLINE void StoreHalves(uint16_t* to, I16 lanes) {
  const U16 halves = __builtin_convertvector(lanes, U16);
  std::memcpy(to, &halves, sizeof halves);
}
TM_INLINE void StoreHalves(uint16_t* to, I16 lanes, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<uint16_t>(lanes[i]);
}

// bf16 is the high half of a float (base/dtype.h): widened, and rounded to nearest even with NaN kept.
TM_INLINE F16 LoadLanes(const uint16_t* from) { return FromBits(LoadHalves(from) << 16); }
TM_INLINE F16 LoadLanes(const uint16_t* from, int64_t count) { return FromBits(LoadHalves(from, count) << 16); }
template <typename I>
TM_INLINE I RoundToBf16Even(I bits) {
  const I not_a_number = (0x7f800000 - (bits & 0x7fffffff)) >> 31;  // all ones above infinity
  const I number = bits & ~not_a_number;
  const I rounded = (number + 0x7fff + ((number >> 16) & 1)) >> 16;
  return ((rounded & ~not_a_number) | (((bits >> 16) | 0x40) & not_a_number)) & 0xffff;
}

// Reductions by one tree, whatever the registers: halves are folded onto each other until one lane is left.
template <typename V, typename Join>
TM_INLINE auto Fold16(V a, Join join) {
  const auto eight = join(__builtin_shufflevector(a, a, 0, 1, 2, 3, 4, 5, 6, 7),
                          __builtin_shufflevector(a, a, 8, 9, 10, 11, 12, 13, 14, 15));
  const auto four =
      join(__builtin_shufflevector(eight, eight, 0, 1, 2, 3), __builtin_shufflevector(eight, eight, 4, 5, 6, 7));
  const auto two = join(__builtin_shufflevector(four, four, 0, 1), __builtin_shufflevector(four, four, 2, 3));
  return join(two[0], two[1]);
}
TM_INLINE float SumLanes(F16 a) {
  return Fold16(a, [](auto x, auto y) { return x + y; });
}
TM_INLINE double SumLanes(D16 a) {
  return Fold16(a, [](auto x, auto y) { return x + y; });
}
TM_INLINE float MaxLanes(F16 a) {
  return Fold16(a, [](auto x, auto y) { return x > y ? x : y; });
}

}  // namespace tidemill::gpu::TM_ISA

#if defined(TM_LANES)
#include TM_LANES
#else
#include "gpu/kernels/lanes_baseline.h"
#endif
