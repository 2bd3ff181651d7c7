// Internal: the conversions of convert.h over a layout S of pairs.
#pragma once

#include "cpu_adam/int8_block.h"
#include "cpu_adam/slice.h"
#include "cpu_adam/streams.h"

namespace tidemill::cpu_adam {
namespace {

// A block's moments in fp32, zeros behind its end.
struct Fp32Block {
  float exp_avg[kBlock] = {}, exp_avg_sq[kBlock] = {};
};

template <typename S>
void EncodeBlock(const Fp32Block& values, const Slice& to) {
  RandomWords<typename S::Register> words(to);
  PendingBlock<S> pending;
  Largest<S> largest;
  for (size_t i = 0; i < kBlock; i += S::kLanes) {
    const auto m = S::Load(values.exp_avg + i), v = S::Load(values.exp_avg_sq + i);
    const auto word = words.Next();
    if (to.moment_form == MomentForm::kFp32) Fp32MomentStream<S>(to).Store(i, m, v, word);
    if (to.moment_form == MomentForm::kBf16) Bf16MomentStream<S>(to).Store(i, m, v, word);
    if (to.moment_form == MomentForm::kInt8) pending.Put(i, m, v, word, largest);
  }
  if (to.moment_form == MomentForm::kInt8) pending.Encode(largest, to);
}

template <typename S>
void Encode(const float* exp_avg, const float* exp_avg_sq, const Slice& to) {
  for (size_t begin = 0; begin < to.count; begin += kBlock) {
    const size_t count = to.count - begin < kBlock ? to.count - begin : kBlock;
    Fp32Block values;
    __builtin_memcpy(values.exp_avg, exp_avg + begin, count * sizeof(float));
    __builtin_memcpy(values.exp_avg_sq, exp_avg_sq + begin, count * sizeof(float));
    const Slice block = SubSlice(to, begin, count);
    if (count == kBlock) {
      EncodeBlock<S>(values, block);
    } else {
      const PaddedSlice<kBlock> padded(block);
      EncodeBlock<S>(values, padded.slice());
      padded.CopyBack();
    }
  }
}

template <typename S>
void DecodeBlock(const Slice& from, Fp32Block& values) {
  for (size_t i = 0; i < kBlock; i += S::kLanes) {
    typename S::V m = S::Set(0), v = m;
    if (from.moment_form == MomentForm::kFp32) Fp32MomentStream<S>(from).Load(i, m, v);
    if (from.moment_form == MomentForm::kBf16) Bf16MomentStream<S>(from).Load(i, m, v);
    if (from.moment_form == MomentForm::kInt8) StoredBlock<S>(from).Load(i, m, v);
    S::Store(values.exp_avg + i, m);
    S::Store(values.exp_avg_sq + i, v);
  }
}

template <typename S>
void Decode(const Slice& from, float* exp_avg, float* exp_avg_sq) {
  for (size_t begin = 0; begin < from.count; begin += kBlock) {
    const size_t count = from.count - begin < kBlock ? from.count - begin : kBlock;
    const Slice block = SubSlice(from, begin, count);
    Fp32Block values;
    if (count == kBlock) {
      DecodeBlock<S>(block, values);
    } else {
      const PaddedSlice<kBlock> padded(block);
      DecodeBlock<S>(padded.slice(), values);
    }
    __builtin_memcpy(exp_avg + begin, values.exp_avg, count * sizeof(float));
    __builtin_memcpy(exp_avg_sq + begin, values.exp_avg_sq, count * sizeof(float));
  }
}

}  // namespace
}  // namespace tidemill::cpu_adam
