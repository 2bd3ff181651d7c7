// Internal: random bits for stochastic rounding, and stochastic rounding to bf16, over a layout S of pairs.
//
// Counter-based: a draw is a hash of its place under a key, so it needs no state and no order. The hash is
// MurmurHash3's 32-bit finaliser (Appleby, public domain), a bijection of 32-bit words, between two keys, one added and
// one xored; the keys come from (seed, step, high half of the index) by a 64-bit mixer in slice_keys.cc. (Half of the
// finaliser over a golden-ratio sequence would do less and is visibly correlated at some distances.)
//
// One hash serves the two elements of a pair (indices 2 n and 2 n + 1) and three roundings of each: exp_avg takes the
// word w itself, exp_avg_sq takes w a, the master w b modulo 2^32, with multipliers of good lattice structure
// (L'Ecuyer, "Tables of linear congruential generators", 1999). An element takes its bits from one end of the word, its
// neighbour from the other. Each draw is uniform on its own, so every rounding is unbiased; any two of the six are
// pairwise independent to the lattice's fineness, which state_encoding_test.cc measures.
#pragma once

#include "cpu_adam/kernel.h"

namespace tidemill::cpu_adam {
namespace {

enum class Draw : uint8_t { kExpAvg, kExpAvgSq, kMaster };

// The words of the pairs of a slice, in order, B::kLanes at a time.
template <typename B>
class RandomWords {
 public:
  explicit RandomWords(const Slice& s)
      : counter_(B::AddU(B::SetU(s.key.first + s.first_index / 2), B::Iota())), second_(B::SetU(s.key.second)) {}

  typename B::U Next() {
    auto x = B::Xor(counter_, B::template ShiftRight<16>(counter_));
    x = B::MulU(x, B::SetU(0x85ebca6b));
    x = B::Xor(x, B::template ShiftRight<13>(x));
    x = B::MulU(x, B::SetU(0xc2b2ae35));
    counter_ = B::AddU(counter_, B::SetU(static_cast<uint32_t>(B::kLanes)));
    return B::Xor(B::Xor(x, B::template ShiftRight<16>(x)), second_);
  }

 private:
  typename B::U counter_;
  const typename B::U second_;
};

// kBits random bits for both elements of each pair.
template <int kBits, Draw kDraw, typename S>
typename S::U RandomBits(typename S::Register::U word) {
  using B = typename S::Register;
  const auto mask = B::SetU((1U << kBits) - 1);
  if constexpr (kDraw == Draw::kExpAvg) return {B::And(word, mask), B::template ShiftRight<32 - kBits>(word)};
  const auto other = B::MulU(word, B::SetU(kDraw == Draw::kExpAvgSq ? 2891336453U : 747796405U));
  return {B::template ShiftRight<32 - kBits>(other), B::And(other, mask)};
}

// In the upper halves of the result. Works on sign and magnitude, so it is unbiased on both sides of zero.
template <Draw kDraw, typename S>
typename S::U RoundToBf16(typename S::V x, typename S::Register::U word) {
  return S::AddU(S::Bits(x), RandomBits<16, kDraw, S>(word));
}

}  // namespace
}  // namespace tidemill::cpu_adam
