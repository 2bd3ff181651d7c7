// SplitMix64: a generator of our own, so that its numbers are the same on every platform, for ever.
// Steele, Lea & Flood, "Fast Splittable Pseudorandom Number Generators" (2014).
//
//   Threads   one thread at a time.
#pragma once

#include <cstdint>

namespace tidemill {

class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

  // In [0, 1), a multiple of 2^-53.
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

}  // namespace tidemill
