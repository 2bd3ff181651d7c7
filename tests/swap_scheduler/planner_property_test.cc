// What a plan may never do, on random programs. Seeds are printed with every failure.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/fakes/plan_engine.h"
#include "tests/fakes/plan_proof.h"
#include "tests/fakes/programs.h"

namespace tidemill::swap_scheduler {
namespace {

constexpr std::array kAnyHome{Tier::kDevice, Tier::kHost, Tier::kNvme};

uint64_t Seeds() {
  const char* more = std::getenv("TIDEMILL_SEEDS");
  return more == nullptr ? 1000 : std::strtoull(more, nullptr, 10);
}

TEST(PlannerProperties, AnyProgramUnderAnyBudgetIsCarriedOutOrRefused) {
  uint64_t accepted = 0;
  for (uint64_t seed = 0; seed < Seeds(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Program program = fakes::RandomProgram(random, {kAnyHome.begin(), kAnyHome.end()});
    const auto budget = [&](Tier tier) {
      const uint64_t need = std::max(fakes::LargestOperation(program, tier), fakes::LargestPage(program));
      return fakes::HomeBytes(program, tier) + need * (8 + random() % 18) / 10 / 4096 * 4096;
    };
    const Budgets budgets{budget(Tier::kDevice), budget(Tier::kHost)};
    const LookAhead ahead{static_cast<uint32_t>(random() % 4), static_cast<uint32_t>(random() % 4)};
    const auto plan = MakePlan(program, budgets, ahead);
    if (!plan) {
      ASSERT_EQ(plan.error().code, ErrorCode::kDoesNotFit);
      continue;
    }
    ++accepted;
    ASSERT_LE(plan->peak_bytes[0], budgets.device_bytes);
    ASSERT_LE(plan->peak_bytes[1], budgets.host_bytes);
    ASSERT_EQ(fakes::PlanProof(program, budgets, *plan).Run(), "");
    for (uint64_t run = 0; run < 3; ++run) ASSERT_EQ(fakes::PlanEngine(program, budgets, *plan).Run(run), "");
  }
  std::printf("%lu of %lu programs planned\n", accepted, Seeds());
  EXPECT_GT(accepted, Seeds() / 4);
}

// A budget that adds up is enough, however fragmented, while nothing rests in the tiers but persistent homes.
TEST(PlannerProperties, HomesAndTheLargestOperationAreEnoughWhenNothingElseRests) {
  for (uint64_t seed = 0; seed < Seeds(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Program program = fakes::RandomProgram(random, {Tier::kNvme});
    const uint64_t device = fakes::LargestOperation(program, Tier::kDevice);
    const uint64_t host = std::max(fakes::LargestOperation(program, Tier::kHost), fakes::LargestPage(program));
    const Budgets budgets{fakes::HomeBytes(program, Tier::kDevice) + device,
                          fakes::HomeBytes(program, Tier::kHost) + host};
    const auto plan = MakePlan(program, budgets, {2, 2});
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_EQ(fakes::PlanProof(program, budgets, *plan).Run(), "");
  }
}

// The same with pages that rest in host memory, each counted for all of the step.
TEST(PlannerProperties, PagesAtRestInHostMemoryNeedNoMoreThanTheirOwnRoom) {
  for (uint64_t seed = 0; seed < Seeds(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Program program = fakes::RandomProgram(random, {Tier::kHost, Tier::kNvme});
    uint64_t at_rest = 0;
    for (const Page& page : program.pages) at_rest += !page.persistent && page.home == Tier::kHost ? page.bytes : 0;
    const uint64_t host = std::max(fakes::LargestOperation(program, Tier::kHost), fakes::LargestPage(program));
    const Budgets budgets{fakes::HomeBytes(program, Tier::kDevice) + fakes::LargestOperation(program, Tier::kDevice),
                          fakes::HomeBytes(program, Tier::kHost) + at_rest + host};
    const auto plan = MakePlan(program, budgets, {2, 2});
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_EQ(fakes::PlanProof(program, budgets, *plan).Run(), "");
  }
}

}  // namespace
}  // namespace tidemill::swap_scheduler
