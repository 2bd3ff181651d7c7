// Internal: cutting a slice, and padding its end to whole vectors. Internal linkage throughout, because files compiled
// for different instruction sets include it.
#pragma once

#include "cpu_adam/kernel.h"

namespace tidemill::cpu_adam {
namespace {

constexpr size_t MomentElementBytes(MomentForm form) {
  return form == MomentForm::kFp32 ? 4 : form == MomentForm::kBf16 ? 2 : 1;
}
constexpr size_t GradElementBytes(GradForm form) { return form == GradForm::kFp32 ? 4 : 2; }

template <typename Byte>
Byte* Skip(Byte* data, size_t bytes) {
  return data == nullptr ? nullptr : data + bytes;
}

// Elements [begin, begin + count) of `slice`. The low index wraps; whoever cuts picks the keys (adam.cc).
[[maybe_unused]] Slice SubSlice(const Slice& slice, size_t begin, size_t count) {
  Slice sub = slice;
  sub.count = count;
  if (sub.master != nullptr) sub.master += begin;
  if (sub.param != nullptr) sub.param += begin;
  if (sub.rest != nullptr) sub.rest += begin;
  const size_t moment_bytes = begin * MomentElementBytes(slice.moment_form);
  sub.exp_avg = Skip(static_cast<char*>(slice.exp_avg), moment_bytes);
  sub.exp_avg_sq = Skip(static_cast<char*>(slice.exp_avg_sq), moment_bytes);
  sub.exp_avg_scale = Skip(slice.exp_avg_scale, begin / kBlock);
  sub.exp_avg_sq_scale = Skip(slice.exp_avg_sq_scale, begin / kBlock);
  sub.grad = Skip(static_cast<const char*>(slice.grad), begin * GradElementBytes(slice.grad_form));
  sub.first_index = slice.first_index + static_cast<uint32_t>(begin);
  return sub;
}

// A copy of a slice shorter than kCount, in arrays of kCount: its last element is repeated, so that what is computed
// there is as ordinary as the rest. One code path serves every length, and nothing past the end is read or written.
template <size_t kCount>
class PaddedSlice {
 public:
  explicit PaddedSlice(const Slice& source) : source_(source), slice_(source) {
    slice_.master = Fill(master_, source.master);
    slice_.param = Fill(param_, source.param);
    slice_.rest = Fill(rest_, source.rest);
    slice_.exp_avg = FillBytes(exp_avg_, source.exp_avg, MomentElementBytes(source.moment_form));
    slice_.exp_avg_sq = FillBytes(exp_avg_sq_, source.exp_avg_sq, MomentElementBytes(source.moment_form));
    slice_.grad = FillBytes(grad_, source.grad, GradElementBytes(source.grad_form));
  }

  // `count` is still the source's: the number of elements that matter.
  const Slice& slice() const { return slice_; }

  void CopyBack() const {
    const size_t moment_bytes = source_.count * MomentElementBytes(source_.moment_form);
    Copy(source_.master, master_, source_.count * sizeof(float));
    Copy(source_.param, param_, source_.count * sizeof(uint16_t));
    Copy(source_.rest, rest_, source_.count * sizeof(uint16_t));
    Copy(source_.exp_avg, exp_avg_, moment_bytes);
    Copy(source_.exp_avg_sq, exp_avg_sq_, moment_bytes);
  }

 private:
  static void Copy(void* to, const void* from, size_t bytes) {
    if (to != nullptr) __builtin_memcpy(to, from, bytes);
  }
  template <typename T>
  T* Fill(unsigned char* to, const T* from) const {
    return static_cast<T*>(FillBytes(to, from, sizeof(T)));
  }
  void* FillBytes(void* to, const void* from, size_t element_bytes) const {
    if (from == nullptr) return nullptr;
    for (size_t i = 0; i < kCount; ++i) {
      const size_t at = i < source_.count ? i : source_.count - 1;
      __builtin_memcpy(static_cast<char*>(to) + i * element_bytes, static_cast<const char*>(from) + at * element_bytes,
                       element_bytes);
    }
    return to;
  }

  const Slice source_;
  Slice slice_;
  // Bytes, since the form decides what they hold.
  alignas(4) unsigned char master_[4 * kCount], exp_avg_[4 * kCount], exp_avg_sq_[4 * kCount], grad_[4 * kCount];
  alignas(4) unsigned char param_[2 * kCount], rest_[2 * kCount];
};

}  // namespace
}  // namespace tidemill::cpu_adam
