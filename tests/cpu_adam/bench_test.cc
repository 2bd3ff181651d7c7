#include "cpu_adam/bench.h"

#include <gtest/gtest.h>

#include "cpu_adam/self_check.h"

namespace tidemill::cpu_adam {
namespace {

TEST(AdamBench, ReportsARowPerInstructionSetStateAndForm) {
  constexpr StateDtype kStates[] = {StateDtype::kFp32, StateDtype::kInt8};
  const auto rows =
      BenchAdam({.elements = 10'000, .threads = 2, .isas = SupportedIsas(), .states = kStates, .steps = 1});
  ASSERT_TRUE(rows.has_value());
  ASSERT_EQ(rows->size(), SupportedIsas().size() * 2 * 4);
  const BenchRow& first = rows->front();
  EXPECT_EQ(first.param_dtype, "fp32");
  EXPECT_EQ(first.grad_dtype, "fp32");
  EXPECT_EQ(first.isa, BestIsa());
  EXPECT_EQ(first.threads, 2U);
  EXPECT_DOUBLE_EQ(first.bytes_per_param, 28);
  for (const BenchRow& row : *rows) {
    EXPECT_GT(row.ns_per_param, 0);
    EXPECT_GT(row.limit_fraction, 0);
  }
}

TEST(AdamBench, TheSelfCheckPassesOnEveryInstructionSet) {
  const auto checked = CheckKernels(SupportedIsas());
  ASSERT_TRUE(checked.has_value()) << checked.error().message;
  EXPECT_EQ(*checked, SupportedIsas().size() * 2 * 5 * 3 * 2 * 134);
}

TEST(AdamBench, AnUnknownInstructionSetIsNamed) {
  const auto isa = IsaFromName("avx9");
  ASSERT_FALSE(isa.has_value());
  EXPECT_EQ(isa.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(isa.error().message.find("avx9"), std::string::npos);
}

}  // namespace
}  // namespace tidemill::cpu_adam
