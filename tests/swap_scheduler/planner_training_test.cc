// Plans for the programs that training really runs.
#include <gtest/gtest.h>

#include "swap_scheduler/smallest_fit.h"
#include "swap_scheduler/training_program.h"
#include "tests/fakes/llama_shapes.h"
#include "tests/fakes/plan_engine.h"
#include "tests/fakes/plan_proof.h"
#include "tests/fakes/programs.h"
#include "tests/fakes/small_model.h"

namespace tidemill::swap_scheduler {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

Placement All(Tier tier) { return {Everything(tier), Everything(tier), Everything(tier), Everything(tier)}; }

StepShape SmallShape(uint32_t micro_batches, uint32_t group_size) {
  return {.micro_batches = micro_batches,
          .group_size = group_size,
          .boundary_bytes = 3 * 4096,
          .kept_bytes = 5 * 4096,
          .head_state_bytes = 4096,
          .logits_bytes = 2 * 4096};
}

Program SmolLm2(const Placement& placement) {
  constexpr uint64_t kTokens = 512, kHidden = fakes::kSmolLm2.hidden;
  const StepShape shape{.micro_batches = 4,
                        .group_size = 4,
                        .param_bytes = 2,
                        .grad_bytes = 2,
                        .boundary_bytes = kTokens * kHidden * 2,
                        .head_state_bytes = kTokens * (kHidden * 4 + 8)};
  return TrainingProgram(LayOut(fakes::LlamaTensors(fakes::kSmolLm2)), shape, placement).program;
}

Shares RandomShares(std::mt19937_64& random) {
  Shares shares = Everything(static_cast<Tier>(random() % 3));
  if (random() % 2 == 0) {
    for (double& share : shares) share *= 0.5;
    shares[random() % 3] += 0.5;
  }
  return shares;
}

TEST(PlannerTraining, EveryPlacementGroupAndLookAheadIsPlannedFromItsSmallestBudgetsUp) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    StepShape shape = SmallShape(static_cast<uint32_t>(1 + random() % 4), static_cast<uint32_t>(1 + random() % 4));
    shape.recompute = random() % 2 == 0;
    shape.keep_logits = random() % 2 == 0;
    shape.param_bytes = shape.grad_bytes = random() % 2 == 0 ? 2 : 4;
    shape.tile_elements = random() % 2 == 0 ? 0 : 2048;
    const PageLayout layout = LayOut(fakes::SmallModel({.layers = 2, .tied = random() % 2 == 0}));
    const Placement placement{RandomShares(random), RandomShares(random), RandomShares(random), RandomShares(random)};
    const Program program = TrainingProgram(layout, shape, placement).program;
    const LookAhead ahead{static_cast<uint32_t>(random() % 4), static_cast<uint32_t>(random() % 4)};
    const auto smallest = SmallestThatFits(program, {0, 0}, ahead);
    ASSERT_TRUE(smallest) << smallest.error().message;
    for (const uint64_t more : {100, 130, 300}) {
      const Budgets budgets{smallest->device_bytes * more / 100 / 4096 * 4096,
                            smallest->host_bytes * more / 100 / 4096 * 4096};
      const auto plan = MakePlan(program, budgets, ahead);
      ASSERT_TRUE(plan) << plan.error().message;
      ASSERT_EQ(fakes::PlanProof(program, budgets, *plan).Run(), "");
      ASSERT_EQ(fakes::PlanEngine(program, budgets, *plan).Run(seed), "");
    }
  }
}

TEST(PlannerTraining, SmolLm2TrainsFromStorageInSmallMemories) {
  const Program program = SmolLm2(All(Tier::kNvme));
  const Budgets least = LeastBudgets(program);
  const auto smallest = SmallestThatFits(program, {0, 0}, {2, 2});
  ASSERT_TRUE(smallest) << smallest.error().message;
  std::printf("least %lu / %lu, smallest planned %lu / %lu bytes\n", least.device_bytes, least.host_bytes,
              smallest->device_bytes, smallest->host_bytes);
  EXPECT_LE(smallest->device_bytes, least.device_bytes * 101 / 100);
  EXPECT_LE(smallest->host_bytes, least.host_bytes * 101 / 100);
  EXPECT_LE(smallest->device_bytes, 100 * kMiB);
  EXPECT_LE(smallest->host_bytes, 100 * kMiB);
}

TEST(PlannerTraining, NothingMovesWhenAllIsOnTheDevice) {
  const auto plan = MakePlan(SmolLm2(All(Tier::kDevice)), {4000 * kMiB, 0}, {2, 2});
  ASSERT_TRUE(plan) << plan.error().message;
  const LaneBytes& moved = plan->moved;
  EXPECT_EQ(moved.upload + moved.download + moved.nvme_read + moved.nvme_write, 0u);
}

TEST(PlannerTraining, OptimizerStateOnStorageIsReadOnceAndWrittenOnceAStep) {
  Placement placement = All(Tier::kDevice);
  placement.optimizer = Everything(Tier::kNvme);
  const Program program = SmolLm2(placement);
  const auto plan = MakePlan(program, {2000 * kMiB, 200 * kMiB}, {2, 2});
  ASSERT_TRUE(plan) << plan.error().message;
  uint64_t state = 0, params = 0, grads = 0;
  for (const Page& page : program.pages) {
    state += page.home == Tier::kNvme ? page.bytes : 0;
    params += page.kind == Kind::kParam ? page.bytes : 0;
    grads += page.kind == Kind::kGrad ? page.bytes : 0;
  }
  EXPECT_EQ(plan->moved.nvme_read, state);
  EXPECT_EQ(plan->moved.nvme_write, state);
  EXPECT_EQ(plan->moved.download, params + grads);
  EXPECT_EQ(plan->moved.upload, params);
}

TEST(PlannerTraining, ActivationsInHostMemoryGoDownAndUpOnceAndNothingElseMoves) {
  Placement placement = All(Tier::kDevice);
  placement.activations = Everything(Tier::kHost);
  const auto plan = MakePlan(SmolLm2(placement), {4000 * kMiB, 200 * kMiB}, {2, 2});
  ASSERT_TRUE(plan) << plan.error().message;
  const auto activation = static_cast<size_t>(Kind::kActivation);
  EXPECT_GT(plan->moved.download, 60 * kMiB);
  EXPECT_EQ(plan->moved.download, plan->moved_items[static_cast<size_t>(Lane::kDownload)][activation]);
  EXPECT_EQ(plan->moved.upload, plan->moved.download);
}

TEST(PlannerTraining, EvaluationIsPlannedFromTheSamePages) {
  const PageLayout layout = LayOut(fakes::SmallModel({.layers = 3}));
  Placement placement = All(Tier::kNvme);
  placement.activations = Everything(Tier::kDevice);
  const Program program = EvaluationProgram(layout, SmallShape(2, 2), placement, true).program;
  const auto budgets = SmallestThatFits(program, {0, 0}, {2, 2});
  ASSERT_TRUE(budgets) << budgets.error().message;
  const auto plan = MakePlan(program, *budgets, {2, 2});
  EXPECT_EQ(fakes::PlanProof(program, *budgets, *plan).Run(), "");
  EXPECT_GT(plan->moved.nvme_read, 0u);
  EXPECT_EQ(plan->moved.nvme_write + plan->moved.download, 0u);
}

}  // namespace
}  // namespace tidemill::swap_scheduler
