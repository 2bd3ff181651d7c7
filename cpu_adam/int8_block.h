// Internal: int8 moments of one block, decoded to and encoded from fp32 (state_encoding.h has the format).
//
// A code without its sign is a small float c = field << 3 | mantissa. With fields counted so that kTop stands for
// 2^(scale - 127), a code of field >= 1 becomes fp32 bits by moving it and adding (scale - kTop) to the exponent; the
// codes 0..7 are multiples of the smallest step, 2^(scale - 127 - kTop - 2).
#pragma once

#include "cpu_adam/kernel.h"
#include "cpu_adam/rounding.h"

namespace tidemill::cpu_adam {
namespace {

constexpr uint32_t kScaleMin = 34;               // no decoded value is denormal
constexpr uint32_t kLargestMoment = 0x7f700000;  // 1.875 * 2^127: rounding it up cannot reach infinity
constexpr uint32_t kDropped = 0xfffff;           // the 20 mantissa bits that a code has no room for

constexpr float PowerOfTwo(uint32_t biased_exponent) { return __builtin_bit_cast(float, biased_exponent << 23); }

// exp_avg: 15, signed. exp_avg_sq: 31, the code fills the byte.
template <typename S, uint32_t kTop>
typename S::V DecodeMagnitude(typename S::U code, uint32_t scale) {
  const auto normal = S::AddU(S::template ShiftLeft<20>(code), S::SetU((scale - kTop) << 23));
  const auto small = S::Mul(S::ToFloat(code), S::Set(PowerOfTwo(scale - kTop - 2)));
  return S::Float(S::SelectLess(code, S::SetU(8), S::Bits(small), normal));
}

// `bits` is the magnitude; `random` has 16 bits in its low half.
template <typename S>
typename S::U RoundUp(typename S::U bits, typename S::U random) {
  return S::AddU(S::MinU(bits, S::SetU(kLargestMoment)), S::template ShiftLeft<4>(S::And(random, S::SetU(0xffff))));
}

template <typename S, uint32_t kTop>
typename S::U EncodeMagnitude(typename S::U bits, typename S::U random, uint32_t scale) {
  const auto normal = S::SubU(S::template ShiftRight<20>(RoundUp<S>(bits, random)), S::SetU((scale - kTop) << 3));
  // Below field 1: count the steps, add a fraction, drop what is after the point.
  const auto least_normal = S::SetU((scale - kTop + 1) << 23);
  const auto steps = S::Mul(S::Float(S::MinU(bits, least_normal)), S::Set(PowerOfTwo(254 + kTop + 2 - scale)));
  const auto fraction = S::Mul(S::ToFloat(S::And(random, S::SetU(0xffff))), S::Set(0x1p-16F));
  const auto small = S::Truncate(S::Fma(fraction, S::Set(1.0F), steps));
  return S::SelectLess(bits, least_normal, small, normal);
}

// Reads and writes one block's codes; moments in between are kBlock floats.
template <typename S>
struct Int8Block {
  uint8_t *exp_avg, *exp_avg_sq, *exp_avg_scale, *exp_avg_sq_scale;

  explicit Int8Block(const Slice& s)
      : exp_avg(static_cast<uint8_t*>(s.exp_avg)),
        exp_avg_sq(static_cast<uint8_t*>(s.exp_avg_sq)),
        exp_avg_scale(s.exp_avg_scale),
        exp_avg_sq_scale(s.exp_avg_sq_scale) {}

  // A page that was never stepped is all zero bytes; its scale of 0 is read as the least one.
  static uint32_t Scale(uint8_t stored) { return stored < kScaleMin ? kScaleMin : stored; }

  void Load(size_t i, typename S::V& m, typename S::V& v) const {
    const auto code = S::LoadU8(exp_avg + i);
    const auto magnitude = DecodeMagnitude<S, 15>(S::And(code, S::SetU(0x7f)), Scale(*exp_avg_scale));
    const auto sign = S::template ShiftLeft<24>(S::And(code, S::SetU(0x80)));
    m = S::Float(S::Or(S::Bits(magnitude), sign));
    v = DecodeMagnitude<S, 31>(S::LoadU8(exp_avg_sq + i), Scale(*exp_avg_sq_scale));
  }

  void Store(const float* m, const float* v, uint32_t first_index, const StreamKey& key) const {
    const auto magnitude_mask = S::SetU(0x7fffffff);
    auto largest_m = S::SetU(kScaleMin << 23), largest_v = largest_m;
    for (size_t i = 0; i < kBlock; i += S::kLanes) {
      const auto random = Draw<S>(key, first_index + static_cast<uint32_t>(i));
      const auto bits = S::And(S::Bits(S::Load(m + i)), magnitude_mask);
      largest_m = S::MaxU(largest_m, RoundUp<S>(bits, random));
      largest_v = S::MaxU(largest_v, RoundUp<S>(S::Bits(S::Load(v + i)), S::template ShiftRight<16>(random)));
    }
    const uint32_t scale_m = S::LargestLane(largest_m) >> 23, scale_v = S::LargestLane(largest_v) >> 23;
    *exp_avg_scale = static_cast<uint8_t>(scale_m);
    *exp_avg_sq_scale = static_cast<uint8_t>(scale_v);
    for (size_t i = 0; i < kBlock; i += S::kLanes) {
      const auto random = Draw<S>(key, first_index + static_cast<uint32_t>(i));
      const auto bits = S::Bits(S::Load(m + i));
      const auto sign = S::And(S::template ShiftRight<24>(bits), S::SetU(0x80));
      const auto code = EncodeMagnitude<S, 15>(S::And(bits, magnitude_mask), random, scale_m);
      S::StoreU8(exp_avg + i, S::Or(code, sign));
      S::StoreU8(exp_avg_sq + i,
                 EncodeMagnitude<S, 31>(S::Bits(S::Load(v + i)), S::template ShiftRight<16>(random), scale_v));
    }
  }
};

}  // namespace
}  // namespace tidemill::cpu_adam
