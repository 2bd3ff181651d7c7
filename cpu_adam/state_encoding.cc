#include "cpu_adam/state_encoding.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/check.h"
#include "cpu_adam/convert.h"
#include "cpu_adam/slice.h"
#include "cpu_adam/slice_keys.h"

namespace tidemill::cpu_adam {
namespace {

constexpr std::array<std::string_view, 3> kNames{"fp32", "bf16", "int8"};
static_assert(kMomentBlock == kBlock);

Slice SliceOf(const MomentView& view, size_t count) {
  Slice slice{};
  slice.count = count;
  SetMoments(view, slice);
  return slice;
}

}  // namespace

std::string_view StateDtypeName(StateDtype dtype) { return kNames[static_cast<size_t>(dtype)]; }

Result<StateDtype> StateDtypeFromName(std::string_view name) {
  for (const StateDtype dtype : {StateDtype::kFp32, StateDtype::kBf16, StateDtype::kInt8}) {
    if (StateDtypeName(dtype) == name) return dtype;
  }
  return Fail(ErrorCode::kInvalidArgument,
              "state dtype '" + std::string(name) + "' is not known (--state-dtype): use fp32, bf16 or int8");
}

size_t MomentBytes(StateDtype dtype, size_t count) {
  if (dtype == StateDtype::kFp32) return count * 4;
  if (dtype == StateDtype::kBf16) return count * 2;
  return count + (count + kMomentBlock - 1) / kMomentBlock;
}

MomentView PageMoments(StateDtype dtype, std::byte* exp_avg, std::byte* exp_avg_sq, size_t page_count, size_t first) {
  TM_CHECK(first <= page_count);
  if (dtype == StateDtype::kFp32)
    return Fp32Moments{reinterpret_cast<float*>(exp_avg) + first, reinterpret_cast<float*>(exp_avg_sq) + first};
  if (dtype == StateDtype::kBf16)
    return Bf16Moments{reinterpret_cast<uint16_t*>(exp_avg) + first, reinterpret_cast<uint16_t*>(exp_avg_sq) + first};
  TM_CHECK(first % kMomentBlock == 0);
  auto* const m = reinterpret_cast<uint8_t*>(exp_avg);
  auto* const v = reinterpret_cast<uint8_t*>(exp_avg_sq);
  const size_t block = first / kMomentBlock;
  return Int8Moments{m + first, v + first, m + page_count + block, v + page_count + block};
}

void EncodeMoments(std::span<const float> exp_avg, std::span<const float> exp_avg_sq, const RoundingKey& key,
                   const MomentView& out) {
  TM_CHECK(exp_avg.size() == exp_avg_sq.size());
  const Slice slice = SliceOf(out, exp_avg.size());
  for (size_t begin = 0; begin < slice.count;) {
    const uint64_t first = key.first_element + begin;
    const size_t run = std::min(slice.count - begin, RunLength(slice, first));
    Slice sub = SubSlice(slice, begin, run);
    SetKeys(key, first, sub);
    EncodeScalar(exp_avg.data() + begin, exp_avg_sq.data() + begin, sub);
    begin += run;
  }
}

void DecodeMoments(const MomentView& in, std::span<float> exp_avg, std::span<float> exp_avg_sq) {
  TM_CHECK(exp_avg.size() == exp_avg_sq.size());
  DecodeScalar(SliceOf(in, exp_avg.size()), exp_avg.data(), exp_avg_sq.data());
}

}  // namespace tidemill::cpu_adam
