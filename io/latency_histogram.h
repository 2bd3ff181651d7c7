// Times of many operations in a fixed amount of memory: every power of two is cut in 32, so a quantile is off by 3 % at
// most.
//
//   Threads   one at a time.
//   Limits    1 ns to 2^40 ns (18 minutes); longer ones count as that.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tidemill::io {

class LatencyHistogram {
 public:
  void Add(uint64_t nanoseconds) {
    nanoseconds = std::clamp<uint64_t>(nanoseconds, 1, kMax - 1);
    ++buckets_[IndexOf(nanoseconds)];
    ++count_;
    sum_ += nanoseconds;
  }

  void Merge(const LatencyHistogram& other) {
    for (size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    sum_ += other.sum_;
  }

  uint64_t count() const { return count_; }
  double MeanMicroseconds() const {
    return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_) / 1e3;
  }

  // The time that a share `q` of all did not exceed: the middle of its bucket. 0 when empty.
  double QuantileMicroseconds(double q) const {
    uint64_t below = 0;
    for (size_t i = 0; i < buckets_.size(); ++i) {
      below += buckets_[i];
      if (below > 0 && static_cast<double>(below) >= q * static_cast<double>(count_)) return MiddleOf(i) / 1e3;
    }
    return 0;
  }

 private:
  static constexpr uint64_t kParts = 32, kMax = uint64_t{1} << 40;

  // Below 32 ns a bucket each; from there the five bits after the leading one.
  static size_t IndexOf(uint64_t value) {
    if (value < kParts) return value;
    const auto shift = static_cast<uint64_t>(std::bit_width(value)) - 6;
    return (shift + 1) * kParts + ((value >> shift) - kParts);
  }
  static double MiddleOf(size_t index) {
    if (index < kParts) return static_cast<double>(index);
    const uint64_t shift = index / kParts - 1, low = (kParts + index % kParts) << shift;
    return static_cast<double>(low) + static_cast<double>(uint64_t{1} << shift) / 2;
  }

  std::array<uint64_t, kParts * 36> buckets_{};
  uint64_t count_ = 0, sum_ = 0;
};

}  // namespace tidemill::io
