// Internal: int8 moments of one block, decoded to and encoded from fp32 (state_encoding.h has the format).
//
// A code without its sign is a small float, field << 3 | mantissa, with fields counted so that kTop stands for
// 2^(scale - 127). A code of field >= 1 becomes fp32 bits by moving it and adding scale - kTop to the exponent. Below,
// codes are multiples of an eighth of the least normal value: with that value added, a code of field 0 has the bits
// that field 1 would give it, and both directions use this.
#pragma once

#include "cpu_adam/kernel.h"
#include "cpu_adam/rounding.h"

namespace tidemill::cpu_adam {
namespace {

constexpr uint32_t kScaleMin = 34;               // no decoded value is denormal
constexpr uint32_t kLargestMoment = 0x7f700000;  // 1.875 * 2^127, scale 254
constexpr uint32_t kMagnitude = 0x7fffffff;
constexpr uint32_t kOneField = 1U << 23;

// The top field is 15 for exp_avg, whose code has a sign too, and 31 for exp_avg_sq, whose code fills the byte.
constexpr uint32_t kTopM = 15, kTopV = 31;

constexpr float LeastNormal(uint32_t scale, uint32_t top) { return __builtin_bit_cast(float, (scale - top + 1) << 23); }

// Values below the least normal are rare in a block; where a vector has none, a shift and an addition do.
template <typename S>
typename S::V DecodeMagnitude(typename S::U code, uint32_t scale, uint32_t top) {
  const auto normal = S::AddU(S::template ShiftLeft<20>(code), S::SetU((scale - top) << 23));
  if (S::AllAtLeast(code, S::SetU(8))) return S::Float(normal);
  const auto small = S::Sub(S::Float(S::AddU(normal, S::SetU(kOneField))), S::Set(LeastNormal(scale, top)));
  return S::Float(S::SelectLess(code, S::SetU(8), S::Bits(small), normal));
}

// The 20 bits below the 3 mantissa bits that a code has room for are rounded by adding as many random ones; the low
// half of a draw decides.
template <typename S>
typename S::U Fraction(typename S::U random) {
  return S::template ShiftLeft<4>(S::And(random, S::SetU(0xffff)));
}

template <typename S>
typename S::U EncodeMagnitude(typename S::U bits, typename S::U fraction, uint32_t scale, uint32_t top) {
  const float least_normal = LeastNormal(scale, top);
  const auto small = S::SubU(S::Bits(S::Add(S::Float(bits), S::Set(least_normal))), S::SetU(kOneField));
  const auto aligned = S::SelectLess(bits, S::SetU((scale - top + 1) << 23), small, bits);
  return S::SubU(S::template ShiftRight<20>(S::AddU(aligned, fraction)), S::SetU((scale - top) << 3));
}

// The largest moments of a block so far, with their fractions. Apart from the arrays below, so that it stays in
// registers.
template <typename S>
struct Largest {
  typename S::U m = S::SetU(kScaleMin << 23), v = m;
};

// A block's new moments on their way to codes: kept, with their fractions added, until the largest is known.
template <typename S>
class PendingBlock {
 public:
  PendingBlock(uint32_t first_index, const StreamKey& key) : first_index_(first_index), key_(key) {}

  void Put(size_t i, typename S::V m, typename S::V v, Largest<S>& largest) {
    const auto random = RandomOf(i);
    const auto rounded_m = S::AddU(S::Bits(m), Fraction<S>(random));
    const auto rounded_v = S::AddU(S::Bits(v), Fraction<S>(S::template ShiftRight<16>(random)));
    S::StoreU(m_ + i, rounded_m);
    S::StoreU(v_ + i, rounded_v);
    largest.m = S::MaxU(largest.m, S::And(rounded_m, S::SetU(kMagnitude)));
    largest.v = S::MaxU(largest.v, rounded_v);
  }

  void Encode(const Largest<S>& largest, const Slice& to) const {
    const uint32_t largest_m = S::LargestLane(largest.m), largest_v = S::LargestLane(largest.v);
    const uint32_t top_m = ScaleOf(largest_m), top_v = ScaleOf(largest_v);
    *to.exp_avg_scale = static_cast<uint8_t>(top_m);
    *to.exp_avg_sq_scale = static_cast<uint8_t>(top_v);
    auto* const m = static_cast<uint8_t*>(to.exp_avg);
    auto* const v = static_cast<uint8_t*>(to.exp_avg_sq);
    // From here on up, a sum with its fraction shows its code in its upper bits.
    const bool in_range = largest_m < kInfinity && largest_v < kInfinity;
    const auto plain_m = S::SetU(((top_m - kTopM + 1) << 23) + (1U << 20));
    const auto plain_v = S::SetU(((top_v - kTopV + 1) << 23) + (1U << 20));
    for (size_t i = 0; i < kBlock; i += S::kLanes) {
      const auto signed_m = S::LoadU(m_ + i), rounded_v = S::LoadU(v_ + i);
      const auto rounded_m = S::And(signed_m, S::SetU(kMagnitude));
      const auto sign = S::And(S::template ShiftRight<24>(signed_m), S::SetU(0x80));
      typename S::U code_m, code_v;
      if (in_range && S::AllAtLeast(rounded_m, plain_m) && S::AllAtLeast(rounded_v, plain_v)) {
        code_m = S::SubU(S::template ShiftRight<20>(rounded_m), S::SetU((top_m - kTopM) << 3));
        code_v = S::SubU(S::template ShiftRight<20>(rounded_v), S::SetU((top_v - kTopV) << 3));
      } else {
        const auto random = RandomOf(i);
        code_m = EncodeSum(rounded_m, Fraction<S>(random), top_m, kTopM);
        code_v = EncodeSum(rounded_v, Fraction<S>(S::template ShiftRight<16>(random)), top_v, kTopV);
      }
      S::StoreU8(m + i, S::Or(code_m, sign));
      S::StoreU8(v + i, code_v);
    }
  }

 private:
  auto RandomOf(size_t i) const { return Draw<S>(key_, first_index_ + static_cast<uint32_t>(i)); }

  static uint32_t ScaleOf(uint32_t largest) { return (largest < kInfinity ? largest : kLargestMoment) >> 23; }

  static auto EncodeSum(typename S::U rounded, typename S::U fraction, uint32_t scale, uint32_t top) {
    const auto bits = S::MinU(S::SubU(rounded, fraction), S::SetU(kLargestMoment));
    return EncodeMagnitude<S>(bits, fraction, scale, top);
  }

  const uint32_t first_index_;
  const StreamKey key_;
  alignas(64) uint32_t m_[kBlock], v_[kBlock];
};

// A block as it was stored.
template <typename S>
struct StoredBlock {
  const uint8_t *exp_avg, *exp_avg_sq;
  uint32_t scale_m, scale_v;

  explicit StoredBlock(const Slice& s)
      : exp_avg(static_cast<const uint8_t*>(s.exp_avg)),
        exp_avg_sq(static_cast<const uint8_t*>(s.exp_avg_sq)),
        scale_m(ReadScale(*s.exp_avg_scale)),
        scale_v(ReadScale(*s.exp_avg_sq_scale)) {}

  // A page that was never stepped is all zero bytes; its scale of 0 is read as the least one.
  static uint32_t ReadScale(uint8_t stored) { return stored < kScaleMin ? kScaleMin : stored; }

  void Load(size_t i, typename S::V& m, typename S::V& v) const {
    const auto code = S::LoadU8(exp_avg + i);
    const auto magnitude = DecodeMagnitude<S>(S::And(code, S::SetU(0x7f)), scale_m, kTopM);
    m = S::Float(S::Or(S::Bits(magnitude), S::template ShiftLeft<24>(S::And(code, S::SetU(0x80)))));
    v = DecodeMagnitude<S>(S::LoadU8(exp_avg_sq + i), scale_v, kTopV);
  }
};

}  // namespace
}  // namespace tidemill::cpu_adam
