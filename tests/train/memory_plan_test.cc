#include "train/memory_plan.h"

#include <gtest/gtest.h>

#include <tuple>

#include "base/byte_size.h"
#include "tests/fakes/small_model.h"
#include "tests/train/named_change.h"

namespace tidemill::train {
namespace {

using swap_scheduler::Everything;
using swap_scheduler::LayOut;
using swap_scheduler::PageLayout;
using swap_scheduler::Tier;

// The shape of SmolLM2-135M: 134,515,008 parameters, 32 vocabulary slices.
swap_scheduler::ModelTensors SmolLm2() {
  swap_scheduler::ModelTensors model;
  model.embedding = {"embed", 49152, 576, true, true};
  for (int i = 0; i < 30; ++i)
    model.layers.push_back({{"in", 576, 1},
                            {"q", 576, 576},
                            {"k", 192, 576},
                            {"v", 192, 576},
                            {"o", 576, 576},
                            {"post", 576, 1},
                            {"gate", 1536, 576},
                            {"up", 1536, 576},
                            {"down", 576, 1536}});
  model.final_norm = {"norm", 576, 1};
  return model;
}

MemoryPlanRequest Request(uint64_t device_bytes, uint64_t host_bytes, bool has_nvme) {
  MemoryPlanRequest request;
  constexpr uint64_t kRows = 256;
  request.shape.boundary_bytes = kRows * 576 * 4;
  request.shape.kept_bytes = kRows * 5800 * 4;
  request.shape.head_state_bytes = kRows * 580 * 4;
  request.shape.logits_bytes = kRows * 1536 * 4;
  request.windows = {2};
  request.limits = {device_bytes, host_bytes, has_nvme, UINT64_MAX};
  request.device_fixed_bytes = 30 * kMiB;
  request.host_fixed_bytes = 8 * kMiB;
  return request;
}

TEST(PlanMemory, KeepsEverythingOnADeviceThatHoldsIt) {
  const PageLayout layout = LayOut(SmolLm2());
  const auto plan = PlanMemory(layout, Request(8 * kGiB, kGiB, true));
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_EQ(plan->placement.optimizer, Everything(Tier::kDevice));
  EXPECT_EQ(plan->training[0].plan.moved.upload + plan->training[0].plan.moved.download, 0U);
  EXPECT_EQ(plan->peak_bytes[2], 0U);
}

TEST(PlanMemory, FitsSmolLm2IntoLittleMemoryAndNvme) {
  const PageLayout layout = LayOut(SmolLm2());
  const auto plan = PlanMemory(layout, Request(300 * kMiB, 200 * kMiB, true));
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_LE(plan->peak_bytes[0], 300 * kMiB);
  EXPECT_LE(plan->peak_bytes[1], 200 * kMiB);
  EXPECT_GT(plan->training[0].plan.moved.nvme_read, 0U);
}

TEST(PlanMemory, SaysWhenNothingFits) {
  const PageLayout layout = LayOut(SmolLm2());
  const auto plan = PlanMemory(layout, Request(32 * kMiB, 32 * kMiB, true));
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().code, ErrorCode::kDoesNotFit);
}

TEST(PlanMemory, FitsOnceTheSmallestChangeThatItNamesIsMade) {
  const PageLayout layout = LayOut(SmolLm2());
  for (const auto& [device, host, has_nvme] :
       {std::tuple(32 * kMiB, 32 * kMiB, true), std::tuple(300 * kMiB, 9 * kMiB, true),
        std::tuple(40 * kMiB + 1, 2 * kGiB, true), std::tuple(kGiB, 100 * kMiB, false), std::tuple(0UL, 0UL, true)}) {
    MemoryPlanRequest request = Request(device, host, has_nvme);
    request.windows = {4, 3};
    request.evaluation_batches = 2;
    request.limits.nvme_bytes = has_nvme ? kGiB : UINT64_MAX;
    const auto refused = PlanMemory(layout, request);
    ASSERT_FALSE(refused.has_value());
    const std::string& message = refused.error().message;
    SCOPED_TRACE(message);
    const auto more_device = NamedBytes(message, "device memory"), more_host = NamedBytes(message, "host memory"),
               more_nvme = NamedBytes(message, "swap");
    ASSERT_TRUE(more_device || more_host || more_nvme);
    request.limits.device_bytes = more_device.value_or(device);
    request.limits.host_bytes = more_host.value_or(host);
    request.limits.nvme_bytes = more_nvme.value_or(request.limits.nvme_bytes);
    const auto plan = PlanMemory(layout, request);
    EXPECT_TRUE(plan.has_value()) << plan.error().message;
  }
}

TEST(PlanMemory, NamesASwapDirectoryOnlyWhereOneWouldDo) {
  const PageLayout layout = LayOut(SmolLm2());
  const auto would = PlanMemory(layout, Request(300 * kMiB, 200 * kMiB, false));
  ASSERT_FALSE(would.has_value());
  EXPECT_NE(would.error().message.find("or a swap directory (--swap-dir)"), std::string::npos) << would.error().message;
  const auto would_not = PlanMemory(layout, Request(32 * kMiB, 200 * kMiB, false));
  ASSERT_FALSE(would_not.has_value());
  EXPECT_EQ(would_not.error().message.find("--swap-dir"), std::string::npos) << would_not.error().message;
}

TEST(PlanMemory, RefusesNvmeWithoutASwapDirectory) {
  const PageLayout layout = LayOut(SmolLm2());
  MemoryPlanRequest request = Request(8 * kGiB, kGiB, false);
  request.placement.optimizer = Everything(Tier::kNvme);
  const auto plan = PlanMemory(layout, request);
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().code, ErrorCode::kInvalidArgument);
}

TEST(PlanMemory, CountsBothSlotsAgainstTheSwapSize) {
  const PageLayout layout = LayOut(SmolLm2());
  MemoryPlanRequest request = Request(300 * kMiB, 200 * kMiB, true);
  request.limits.nvme_bytes = kGiB;
  const auto plan = PlanMemory(layout, request);
  ASSERT_FALSE(plan.has_value());
  EXPECT_NE(plan.error().message.find("--swap-size"), std::string::npos) << plan.error().message;
}

}  // namespace
}  // namespace tidemill::train
