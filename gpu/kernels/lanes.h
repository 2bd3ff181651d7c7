// Sixteen lanes of float, int32 or double: + - * / & | << >> work lane by lane, with a scalar on either side too. What
// has no operator, or one that compiles badly (Fma, Sqrt, Max, Min, Less), comes from a sibling per instruction set,
// chosen by CMake (TM_LANES). All functions exist for plain scalars too: the same text serves one element and a lane.
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
#include "gpu/kernels/lane_pack.h"

#if defined(TM_LANES)
#include TM_LANES
#else
#include "gpu/kernels/lanes_baseline.h"
#endif

namespace tidemill::gpu::TM_ISA {

inline constexpr int64_t kLanes = 16;
inline constexpr int kRegisterFloats = sizeof(FloatRegister) / sizeof(float);
using IntRegister = int32_t __attribute__((vector_size(sizeof(FloatRegister))));
using DoubleRegister = double __attribute__((vector_size(sizeof(FloatRegister))));
using HalfRegister = uint16_t __attribute__((vector_size(sizeof(FloatRegister) / 2)));  // bf16 for one FloatRegister
using F16 = Pack<FloatRegister, 16 / kRegisterFloats>;
using I16 = Pack<IntRegister, 16 / kRegisterFloats>;
using D16 = Pack<DoubleRegister, 32 / kRegisterFloats>;
using U16 = Pack<HalfRegister, 16 / kRegisterFloats>;

TM_INLINE float Fma(float a, float b, float c) { return std::fma(a, b, c); }
TM_INLINE float Sqrt(float a) { return std::sqrt(a); }
TM_INLINE float Max(float a, float b) { return a > b ? a : b; }
TM_INLINE float Min(float a, float b) { return a < b ? a : b; }
TM_INLINE bool Less(float a, float b) { return a < b; }
TM_INLINE float Select(bool mask, float yes, float no) { return mask ? yes : no; }

TM_INLINE F16 Fma(const F16& a, const F16& b, const F16& c) {
  F16 sum;
  for (int i = 0; i < 16 / kRegisterFloats; ++i) sum.part[i] = FmaRegister(a.part[i], b.part[i], c.part[i]);
  return sum;
}
TM_INLINE F16 Sqrt(const F16& a) { return Map(SqrtRegister, a); }
TM_INLINE F16 Max(const F16& a, const F16& b) { return Map(MaxRegister, a, b); }
TM_INLINE F16 Min(const F16& a, const F16& b) { return Map(MinRegister, a, b); }
TM_INLINE I16 Less(const F16& a, const F16& b) {
  return Map([](FloatRegister x, FloatRegister y) { return std::bit_cast<IntRegister>(LessRegister(x, y)); }, a, b);
}

template <typename T>
TM_INLINE T Set(float value) {
  return T{} + value;
}
TM_INLINE I16 LaneNumbers() {
  I16 lanes;
  for (int i = 0; i < kLanes; ++i) lanes[i] = i;
  return lanes;
}

TM_INLINE int32_t Bits(float a) { return std::bit_cast<int32_t>(a); }
TM_INLINE float FromBits(int32_t a) { return std::bit_cast<float>(a); }
TM_INLINE I16 Bits(const F16& a) {
  return Map([](FloatRegister x) { return std::bit_cast<IntRegister>(x); }, a);
}
TM_INLINE F16 FromBits(const I16& a) {
  return Map([](IntRegister x) { return std::bit_cast<FloatRegister>(x); }, a);
}
TM_INLINE F16 Select(const I16& mask, const F16& yes, const F16& no) {
  return FromBits((Bits(yes) & mask) | (Bits(no) & ~mask));
}

TM_INLINE float ToFloat(int32_t a) { return static_cast<float>(a); }
TM_INLINE F16 ToFloat(const I16& a) {
  return Map([](IntRegister x) { return __builtin_convertvector(x, FloatRegister); }, a);
}
TM_INLINE D16 ToDouble(const F16& a) {
  using Half = float __attribute__((vector_size(sizeof(FloatRegister) / 2)));
  struct Two {
    Half low, high;
  };
  D16 wide;
  for (int i = 0; i < 16 / kRegisterFloats; ++i) {
    const auto two = std::bit_cast<Two>(a.part[i]);
    wide.part[2 * i] = __builtin_convertvector(two.low, DoubleRegister);
    wide.part[2 * i + 1] = __builtin_convertvector(two.high, DoubleRegister);
  }
  return wide;
}

// The first 16, and the first `count` <= 16 with zeros behind, from any address.
TM_INLINE F16 LoadLanes(const float* from) {
  F16 lanes;
  for (int i = 0; i < 16 / kRegisterFloats; ++i)
    std::memcpy(&lanes.part[i], from + i * kRegisterFloats, sizeof(FloatRegister));
  return lanes;
}
TM_INLINE void StoreLanes(float* to, const F16& lanes) {
  for (int i = 0; i < 16 / kRegisterFloats; ++i)
    std::memcpy(to + i * kRegisterFloats, &lanes.part[i], sizeof(FloatRegister));
}
TM_INLINE F16 LoadLanes(const float* from, int64_t count) {
  F16 lanes{};
  for (int64_t i = 0; i < count; ++i) lanes[i] = from[i];
  return lanes;
}
TM_INLINE void StoreLanes(float* to, const F16& lanes, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = lanes[i];
}

// Sixteen-bit storage, zero-extended; stored without the upper half.
TM_INLINE I16 LoadHalves(const uint16_t* from) {
  U16 halves;
  for (int i = 0; i < 16 / kRegisterFloats; ++i)
    std::memcpy(&halves.part[i], from + i * kRegisterFloats, sizeof(HalfRegister));
  return Map([](HalfRegister x) { return __builtin_convertvector(x, IntRegister); }, halves);
}
TM_INLINE I16 LoadHalves(const uint16_t* from, int64_t count) {
  I16 lanes{};
  for (int64_t i = 0; i < count; ++i) lanes[i] = from[i];
  return lanes;
}
TM_INLINE void StoreHalves(uint16_t* to, const I16& lanes) {
  const U16 halves = Map([](IntRegister x) { return __builtin_convertvector(x, HalfRegister); }, lanes);
  for (int i = 0; i < 16 / kRegisterFloats; ++i)
    std::memcpy(to + i * kRegisterFloats, &halves.part[i], sizeof(HalfRegister));
}
TM_INLINE void StoreHalves(uint16_t* to, const I16& lanes, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<uint16_t>(lanes[i]);
}

// bf16 is the high half of a float (base/dtype.h): widened, and rounded to nearest even with NaN kept.
TM_INLINE F16 LoadLanes(const uint16_t* from) { return FromBits(LoadHalves(from) << 16); }
TM_INLINE F16 LoadLanes(const uint16_t* from, int64_t count) { return FromBits(LoadHalves(from, count) << 16); }
template <typename I>
TM_INLINE I RoundToBf16Even(const I& bits) {
  const I not_a_number = (0x7f800000 - (bits & 0x7fffffff)) >> 31;  // all ones above infinity
  const I number = bits & ~not_a_number;
  const I rounded = (number + 0x7fff + ((number >> 16) & 1)) >> 16;
  return ((rounded & ~not_a_number) | (((bits >> 16) | 0x40) & not_a_number)) & 0xffff;
}

TM_INLINE float SumLanes(const F16& a) {
  return Fold(a, [](auto x, auto y) { return x + y; });
}
TM_INLINE double SumLanes(const D16& a) {
  return Fold(a, [](auto x, auto y) { return x + y; });
}
TM_INLINE float MaxLanes(const F16& a) {
  return Fold(a, [](auto x, auto y) { return x > y ? x : y; });
}

}  // namespace tidemill::gpu::TM_ISA
