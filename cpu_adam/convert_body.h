// Internal: the conversions of convert.h over a one-lane vector type S.
#pragma once

#include "cpu_adam/int8_block.h"
#include "cpu_adam/slice.h"
#include "cpu_adam/streams.h"

namespace tidemill::cpu_adam {
namespace {

template <typename S>
void EncodeBlocks(const float* exp_avg, const float* exp_avg_sq, const Slice& to) {
  for (size_t begin = 0; begin < to.count; begin += kBlock) {
    const size_t count = to.count - begin < kBlock ? to.count - begin : kBlock;
    const PaddedSlice<kBlock> padded(SubSlice(to, begin, count));
    PendingBlock<S> pending(padded.slice().first_index, to.moment_key);
    Largest<S> largest;
    for (size_t i = 0; i < kBlock; ++i) {
      pending.Put(i, i < count ? exp_avg[begin + i] : 0, i < count ? exp_avg_sq[begin + i] : 0, largest);
    }
    pending.Encode(largest, padded.slice());
    padded.CopyBack();
  }
}

template <typename S>
void Encode(const float* exp_avg, const float* exp_avg_sq, const Slice& to) {
  static_assert(S::kLanes == 1);
  if (to.moment_form == MomentForm::kInt8) return EncodeBlocks<S>(exp_avg, exp_avg_sq, to);
  for (size_t i = 0; i < to.count; ++i) {
    if (to.moment_form == MomentForm::kFp32) Fp32MomentStream<S>(to).Store(i, exp_avg[i], exp_avg_sq[i]);
    if (to.moment_form == MomentForm::kBf16) Bf16MomentStream<S>(to).Store(i, exp_avg[i], exp_avg_sq[i]);
  }
}

template <typename S>
void Decode(const Slice& from, float* exp_avg, float* exp_avg_sq) {
  static_assert(S::kLanes == 1);
  for (size_t i = 0; i < from.count; ++i) {
    if (from.moment_form == MomentForm::kFp32) Fp32MomentStream<S>(from).Load(i, exp_avg[i], exp_avg_sq[i]);
    if (from.moment_form == MomentForm::kBf16) Bf16MomentStream<S>(from).Load(i, exp_avg[i], exp_avg_sq[i]);
    if (from.moment_form == MomentForm::kInt8) {
      const size_t in_block = i % kBlock;
      StoredBlock<S>(SubSlice(from, i - in_block, kBlock)).Load(in_block, exp_avg[i], exp_avg_sq[i]);
    }
  }
}

}  // namespace
}  // namespace tidemill::cpu_adam
