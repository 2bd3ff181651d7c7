#include "cpu_adam/slice_keys.h"

#include "base/check.h"
#include "base/split_mix64.h"

namespace tidemill::cpu_adam {
namespace {

uint64_t Mix64(uint64_t x) { return SplitMix64(x).Next(); }

StreamKey KeyOf(const RoundingKey& key, uint64_t index_high) {
  const uint64_t mixed = Mix64(Mix64(Mix64(key.seed) ^ static_cast<uint64_t>(key.step)) ^ index_high);
  return {static_cast<uint32_t>(mixed), static_cast<uint32_t>(mixed >> 32)};
}

}  // namespace

void SetMoments(const MomentView& moments, Slice& slice) {
  if (const auto* fp32 = std::get_if<Fp32Moments>(&moments)) {
    slice.moment_form = MomentForm::kFp32;
    slice.exp_avg = fp32->exp_avg;
    slice.exp_avg_sq = fp32->exp_avg_sq;
  } else if (const auto* bf16 = std::get_if<Bf16Moments>(&moments)) {
    slice.moment_form = MomentForm::kBf16;
    slice.exp_avg = bf16->exp_avg;
    slice.exp_avg_sq = bf16->exp_avg_sq;
  } else {
    const auto& int8 = std::get<Int8Moments>(moments);
    slice.moment_form = MomentForm::kInt8;
    slice.exp_avg = int8.exp_avg;
    slice.exp_avg_sq = int8.exp_avg_sq;
    slice.exp_avg_scale = int8.exp_avg_scale;
    slice.exp_avg_sq_scale = int8.exp_avg_sq_scale;
  }
}

void SetKeys(const RoundingKey& key, uint64_t first, Slice& slice) {
  TM_CHECK(first % 2 == 0 || !IsRounded(slice));
  slice.first_index = static_cast<uint32_t>(first);
  slice.key = KeyOf(key, first >> 32);
}

bool IsRounded(const Slice& slice) {
  return slice.moment_form != MomentForm::kFp32 || slice.master_form == MasterForm::kBf16;
}

size_t RunLength(const Slice& slice, uint64_t first) {
  const uint64_t left = (uint64_t{1} << 32) - (first & 0xffffffff);
  if (slice.moment_form != MomentForm::kInt8) return left;
  return (left + kBlock - 1) / kBlock * kBlock;
}

}  // namespace tidemill::cpu_adam
