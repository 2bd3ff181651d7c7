// The end of a gradient's fold and AdamW on the device.
#include <limits>

#include "base/adam_rule.h"
#include "base/dtype.h"
#include "gpu/kernels/row_operations.h"
#include "tests/gpu/numbers.h"

namespace tidemill::gpu {
namespace {

struct ScalarWords {
  using V = float;
  static float Set(float value) { return value; }
  static float Mul(float a, float b) { return a * b; }
  static float Div(float a, float b) { return a / b; }
  static float Fma(float a, float b, float c) { return std::fma(a, b, c); }
  static float Sqrt(float a) { return std::sqrt(a); }
};

class UpdateTest : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (GetParam() > CpuIsa()) GTEST_SKIP() << "this processor has no " << IsaName(GetParam());
  }
  RowContext Context(ThreadTeam& team) const { return {team, RowKernelsOf(GetParam())}; }
};

constexpr int64_t kCount = 3 * 8192 + 17;

std::vector<float> NonNegative(int64_t count, uint32_t seed) {
  std::vector<float> values = Random(count, seed);
  for (float& value : values) value = value * value;
  return values;
}

TEST_P(UpdateTest, AdamHasTheBitsOfTheRuleForMasterAndSplit) {
  ThreadTeam team(3);
  const AdamCoefficients k =
      MakeAdamCoefficients({.learning_rate = 1e-3}, /*weight_decay=*/0.1, /*step=*/7, /*grad_scale=*/0.25);
  const std::vector<float> master = Random(kCount, 1), grad = Random(kCount, 4);
  const std::vector<float> m = Random(kCount, 2), v = NonNegative(kCount, 3);
  for (const DType grad_dtype : {DType::kF32, DType::kBf16}) {
    std::vector<float> want_master = master, want_m = m, want_v = v;
    std::vector<uint16_t> half_grad, param, rest;
    for (size_t i = 0; i < master.size(); ++i) {
      half_grad.push_back(RoundToBf16Even(grad[i]));
      const SplitBits split = SplitMaster(master[i]);
      param.push_back(split.param), rest.push_back(split.rest);
      AdamRule<ScalarWords>(k, want_master[i], want_m[i], want_v[i],
                            grad_dtype == DType::kBf16 ? Bf16ToFloat(half_grad[i]) : grad[i]);
    }
    const std::byte* const bytes = grad_dtype == DType::kBf16 ? BytesOf(half_grad.data()) : BytesOf(grad.data());
    std::vector<float> got_master = master, got_m = m, got_v = v, split_m = m, split_v = v, joined;
    Adam(Context(team), k, reinterpret_cast<std::byte*>(got_master.data()), nullptr, got_m.data(), got_v.data(), bytes,
         grad_dtype, kCount);
    Adam(Context(team), k, reinterpret_cast<std::byte*>(param.data()), rest.data(), split_m.data(), split_v.data(),
         bytes, grad_dtype, kCount);
    for (size_t i = 0; i < param.size(); ++i) joined.push_back(JoinMaster(param[i], rest[i]));
    EXPECT_TRUE(SameBits(got_master, want_master) && SameBits(got_m, want_m) && SameBits(got_v, want_v));
    EXPECT_TRUE(SameBits(joined, want_master) && SameBits(split_m, want_m) && SameBits(split_v, want_v));
  }
}

TEST_P(UpdateTest, FinishGradRoundsOnceAndSumsTheSquaresOfWhatItWrote) {
  for (const int64_t count : {int64_t{1}, int64_t{4095}, kCount}) {
    const std::vector<float> fold = Random(count, 1), other = Random(count, 2);
    ThreadTeam one(1), three(3);
    double first = 0, again = 0, exact = 0;
    std::vector<uint16_t> half(fold.size());
    FinishGrad(Context(one), fold.data(), other.data(), reinterpret_cast<std::byte*>(half.data()), DType::kBf16, &first,
               count);
    FinishGrad(Context(three), fold.data(), other.data(), reinterpret_cast<std::byte*>(half.data()), DType::kBf16,
               &again, count);
    for (size_t i = 0; i < fold.size(); ++i) {
      ASSERT_EQ(half[i], RoundToBf16Even(fold[i] + other[i]));
      exact += std::pow(static_cast<double>(Bf16ToFloat(half[i])), 2);
    }
    EXPECT_NEAR(first, exact, 1e-12 * exact);
    EXPECT_EQ(std::bit_cast<uint64_t>(first), std::bit_cast<uint64_t>(again));

    std::vector<float> in_place = fold;
    FinishGrad(Context(three), in_place.data(), nullptr, reinterpret_cast<std::byte*>(in_place.data()), DType::kF32,
               &first, count);
    EXPECT_TRUE(SameBits(in_place, fold));
  }
}

TEST_P(UpdateTest, TheSquareSumHasTheBitsOfTheBaseline) {
  ThreadTeam team(2);
  std::vector<float> fold = Random(kCount, 1);
  double here = 0, baseline = 0;
  FinishGrad(Context(team), fold.data(), nullptr, reinterpret_cast<std::byte*>(fold.data()), DType::kF32, &here,
             kCount);
  FinishGrad({team, RowKernelsOf(Isa::kBaseline)}, fold.data(), nullptr, reinterpret_cast<std::byte*>(fold.data()),
             DType::kF32, &baseline, kCount);
  EXPECT_EQ(std::bit_cast<uint64_t>(here), std::bit_cast<uint64_t>(baseline));
}

TEST_P(UpdateTest, WhatIsNotFiniteShowsInTheSquareSum) {
  ThreadTeam team(2);
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> fold = Random(5000, 1);
    fold[4999] = bad;
    std::vector<uint16_t> half(fold.size());
    double sum = 0;
    FinishGrad(Context(team), fold.data(), nullptr, reinterpret_cast<std::byte*>(half.data()), DType::kBf16, &sum,
               5000);
    EXPECT_FALSE(std::isfinite(sum));
    EXPECT_EQ(std::isnan(bad), std::isnan(Bf16ToFloat(half[4999])));
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, UpdateTest, testing::Values(Isa::kBaseline, Isa::kAvx2, Isa::kAvx512),
                         [](const auto& instance) { return std::string(IsaName(instance.param)); });

}  // namespace
}  // namespace tidemill::gpu
