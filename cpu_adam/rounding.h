// Internal: random bits for stochastic rounding, and stochastic rounding to bf16, over a vector type S.
//
// Counter-based: the draw of an element is a hash of its index under a key, so it needs no state and no order. The hash
// is MurmurHash3's 32-bit finaliser (Appleby, public domain), a bijection of 32-bit words, between two keys; the keys
// come from (seed, step, high half of the index, stream) by a 64-bit mixer in slice_keys.cc.
#pragma once

#include "cpu_adam/kernel.h"

namespace tidemill::cpu_adam {
namespace {

template <typename S>
typename S::U Mix(typename S::U x) {
  x = S::Xor(x, S::template ShiftRight<16>(x));
  x = S::MulU(x, S::SetU(0x85ebca6b));
  x = S::Xor(x, S::template ShiftRight<13>(x));
  x = S::MulU(x, S::SetU(0xc2b2ae35));
  return S::Xor(x, S::template ShiftRight<16>(x));
}

// 32 random bits for each of the elements whose low indices are first, first + 1, ...
template <typename S>
typename S::U Draw(const StreamKey& key, uint32_t first) {
  const auto index = S::AddU(S::SetU(first), S::Iota());
  return S::Xor(Mix<S>(S::Xor(index, S::SetU(key.first))), S::SetU(key.second));
}

// The low 16 bits of `random` decide. Works on sign and magnitude, so it is unbiased on both sides of zero.
template <typename S>
typename S::U RoundToBf16Stochastic(typename S::V x, typename S::U random) {
  return S::template ShiftRight<16>(S::AddU(S::Bits(x), S::And(random, S::SetU(0xffff))));
}

template <typename S>
typename S::V WidenBf16(typename S::U bits) {
  return S::Float(S::template ShiftLeft<16>(bits));
}

}  // namespace
}  // namespace tidemill::cpu_adam
