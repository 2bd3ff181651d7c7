// Internal: int8 moments of one block, decoded to and encoded from fp32 (state_encoding.h has the format), over a
// layout S of pairs.
//
// A code without its sign is a small float, field << 3 | mantissa: IEEE binary16 without its low seven mantissa bits.
// Decoding is the binary16 conversion, times a power of two for the block. Encoding moves fp32 bits; there, a value
// below the least normal one, L, is first averaged with L: its exponent is then that of field 0, whose codes are
// multiples of L / 8. For values above L the average is smaller than the value, so the larger of the two is right for
// both, without a branch.
#pragma once

#include "cpu_adam/kernel.h"
#include "cpu_adam/rounding.h"
#include "cpu_adam/streams.h"

namespace tidemill::cpu_adam {
namespace {

constexpr uint32_t kScaleMin = 34;               // no decoded value is denormal
constexpr uint32_t kLargestMoment = 0x7f700000;  // 1.875 * 2^127, scale 254
constexpr uint32_t kMagnitude = 0x7fffffff;
constexpr uint32_t kMantissaTop = 0x700000;  // a mantissa from here on may be rounded into the next exponent

// The field that stands for 2^(scale - 127). Binary16's own exponent bias is 15.
constexpr uint32_t kTopM = 15, kTopV = 30, kHalfBias = 15;

constexpr float PowerOfTwo(uint32_t biased_exponent) { return __builtin_bit_cast(float, biased_exponent << 23); }

// The largest moments of a block so far. Apart from the arrays below, so that it stays in registers.
template <typename S>
struct Largest {
  typename S::U m = S::SetU(0), v = m;
};

// A block's new moments on their way to codes: kept, with the words to draw from, until the largest is known.
template <typename S>
class PendingBlock {
 public:
  using B = typename S::Register;

  void Put(size_t i, typename S::V m, typename S::V v, typename B::U word, Largest<S>& largest) {
    S::StoreRegisters(m_ + i, m);
    S::StoreRegisters(v_ + i, v);
    B::StoreU(words_ + i / 2, word);
    largest.m = S::MaxU(largest.m, S::And(S::Bits(m), S::SetU(kMagnitude)));
    largest.v = S::MaxU(largest.v, S::Bits(v));
  }

  void Encode(const Largest<S>& largest, const Slice& to) {
    const uint32_t largest_m = S::LargestLane(largest.m), largest_v = S::LargestLane(largest.v);
    uint32_t scale_m = largest_m >> 23, scale_v = largest_v >> 23;
    if (((largest_m & kMantissaTop) == kMantissaTop)) scale_m = ScaleAfterRounding<Draw::kExpAvg>(m_);
    if (((largest_v & kMantissaTop) == kMantissaTop)) scale_v = ScaleAfterRounding<Draw::kExpAvgSq>(v_);
    if (largest_m > kLargestMoment || largest_v > kLargestMoment) Clamp(scale_m, scale_v);
    scale_m = scale_m < kScaleMin ? kScaleMin : scale_m;
    scale_v = scale_v < kScaleMin ? kScaleMin : scale_v;
    *to.exp_avg_scale = static_cast<uint8_t>(scale_m);
    *to.exp_avg_sq_scale = static_cast<uint8_t>(scale_v);
    const uint32_t base_m = scale_m - kTopM, base_v = scale_v - kTopV;
    const auto half_least_m = S::Set(PowerOfTwo(base_m)), half_least_v = S::Set(PowerOfTwo(base_v));
    const auto offset_m = B::SetU(base_m << 3 | base_m << 19), offset_v = B::SetU(base_v << 3 | base_v << 19);
    for (size_t i = 0; i < kBlock; i += S::kLanes) {
      const auto word = B::LoadU(words_ + i / 2);
      const auto m = S::LoadRegisters(m_ + i), v = S::LoadRegisters(v_ + i);
      const auto magnitude = S::Float(S::And(S::Bits(m), S::SetU(kMagnitude)));
      const auto code_m = B::SubU(Code<Draw::kExpAvg>(magnitude, half_least_m, word), offset_m);
      const auto code_v = B::SubU(Code<Draw::kExpAvgSq>(v, half_least_v, word), offset_v);
      const auto sign = B::And(B::template ShiftRight<8>(S::Upper(S::Bits(m))), B::SetU(0x00800080));
      B::StoreBytes(static_cast<uint8_t*>(to.exp_avg) + i, B::Or(code_m, sign));
      B::StoreBytes(static_cast<uint8_t*>(to.exp_avg_sq) + i, code_v);
    }
  }

 private:
  // In 16-bit lanes: the codes of a pair, with fields counted as fp32 counts them.
  template <Draw kDraw>
  static typename B::U Code(typename S::V x, typename S::V half_least, typename B::U word) {
    const auto aligned = S::Max(x, S::Fma(x, S::Set(0.5F), half_least));
    const auto sum = S::AddU(S::Bits(aligned), RandomBits<20, kDraw, S>(word));
    return B::JoinHalves(B::template ShiftRight<4>(sum.odd), B::template ShiftRight<20>(sum.even));
  }

  // The exponent of the largest value that rounding gives: only a value whose mantissa is at the top can gain one.
  template <Draw kDraw>
  [[gnu::noinline, gnu::cold]] uint32_t ScaleAfterRounding(const float* values) const {
    auto largest = S::SetU(0);
    for (size_t i = 0; i < kBlock; i += S::kLanes) {
      const auto magnitude = S::And(S::Bits(S::LoadRegisters(values + i)), S::SetU(kMagnitude));
      largest = S::MaxU(largest, S::AddU(magnitude, RandomBits<20, kDraw, S>(B::LoadU(words_ + i / 2))));
    }
    return S::LargestLane(largest) >> 23;
  }

  [[gnu::noinline, gnu::cold]] void Clamp(uint32_t& scale_m, uint32_t& scale_v) {
    const auto most = S::Float(S::SetU(kLargestMoment)), least = S::Float(S::SetU(kLargestMoment | 1U << 31));
    for (size_t i = 0; i < kBlock; i += S::kLanes) {
      S::StoreRegisters(m_ + i, S::Max(least, S::Min(most, S::LoadRegisters(m_ + i))));
      S::StoreRegisters(v_ + i, S::Min(most, S::LoadRegisters(v_ + i)));
    }
    scale_m = scale_m > 254 ? 254 : scale_m;
    scale_v = scale_v > 254 ? 254 : scale_v;
  }

  alignas(64) float m_[kBlock], v_[kBlock];
  alignas(64) uint32_t words_[kBlock / 2];
};

// A block as it was stored.
template <typename S>
struct StoredBlock {
  const uint8_t *exp_avg, *exp_avg_sq;
  typename S::V factor_m, factor_v;

  explicit StoredBlock(const Slice& s)
      : exp_avg(static_cast<const uint8_t*>(s.exp_avg)),
        exp_avg_sq(static_cast<const uint8_t*>(s.exp_avg_sq)),
        factor_m(S::Set(PowerOfTwo(ReadScale(*s.exp_avg_scale) - (kTopM - kHalfBias)))),
        factor_v(S::Set(PowerOfTwo(ReadScale(*s.exp_avg_sq_scale) - (kTopV - kHalfBias)))) {}

  // A page that was never stepped is all zero bytes; its scale of 0 is read as the least one.
  static uint32_t ReadScale(uint8_t stored) { return stored < kScaleMin ? kScaleMin : stored; }

  void Prefetch(size_t i) const {
    AheadOf<S>(exp_avg + i);
    AheadOf<S>(exp_avg_sq + i);
  }
  void Load(size_t i, typename S::V& m, typename S::V& v) const {
    S::Register::LoadSignedCodes(exp_avg + i, m.even, m.odd);
    S::Register::LoadCodes(exp_avg_sq + i, v.even, v.odd);
    m = S::Mul(m, factor_m);
    v = S::Mul(v, factor_v);
  }
};

}  // namespace
}  // namespace tidemill::cpu_adam
