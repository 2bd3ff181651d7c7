#include "swap_scheduler/smallest_fit.h"

#include <gtest/gtest.h>

#include "tests/fakes/programs.h"

namespace tidemill::swap_scheduler {
namespace {

using enum Tier;
using enum Access;
constexpr uint64_t kPage = 4096;
constexpr LookAhead kAhead{2, 2};

// Two pages for the device through one of the host; a tile of three on the host.
Program Small() {
  fakes::ProgramWriter w;
  const PageId a = w.Persistent(kNvme), b = w.Persistent(kNvme), c = w.Persistent(kNvme), home = w.Persistent(kHost);
  w.On(kDevice, 0, {{a, kRead}, {b, kRead}});
  w.On(kHost, 1, {{a, kUpdate}, {b, kUpdate}, {c, kUpdate}, {home, kRead}});
  return w.program();
}

void ExpectSmallest(const Budgets& from, const Budgets& to) {
  const auto found = SmallestThatFits(Small(), from, kAhead);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->device_bytes, to.device_bytes);
  EXPECT_EQ(found->host_bytes, to.host_bytes);
}

TEST(SmallestFit, TheLeastIsHomesAndTheLargestOperation) {
  EXPECT_EQ(LeastBudgets(Small()).device_bytes, 2 * kPage);
  EXPECT_EQ(LeastBudgets(Small()).host_bytes, 4 * kPage);
}

TEST(SmallestFit, LeavesBudgetsThatFitAlone) { ExpectSmallest({9 * kPage, 9 * kPage}, {9 * kPage, 9 * kPage}); }

TEST(SmallestFit, RaisesTheTierThatIsShort) {
  ExpectSmallest({1 * kPage, 9 * kPage}, {2 * kPage, 9 * kPage});
  ExpectSmallest({9 * kPage, 1 * kPage}, {9 * kPage, 4 * kPage});
}

TEST(SmallestFit, RaisesBothWhenBothAreShort) { ExpectSmallest({0, 0}, {2 * kPage, 4 * kPage}); }

TEST(SmallestFit, FindsMoreThanTheLeastWhenPagesAtRestTakeRoomToo) {
  fakes::ProgramWriter w;
  const PageId rests = w.Transient(kDevice, 3), passes = w.Transient(kDevice, 2);
  w.On(kDevice, 0, {{rests, kMake}});
  w.On(kDevice, 5, {{passes, kMake, true}});
  w.On(kDevice, 9, {{rests, kRead, true}});
  const auto found = SmallestThatFits(w.program(), {0, 0}, kAhead);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->device_bytes, 5 * kPage);
}

TEST(SmallestFit, EveryAnswerWasPlannedAndIsNearTheSmallestThereIs) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Program program = fakes::RandomProgram(random, {kDevice, kHost, kNvme});
    Budgets budgets = LeastBudgets(program);
    budgets.host_bytes += 100 * kPage;
    const auto found = SmallestThatFits(program, budgets, kAhead);
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_TRUE(MakePlan(program, *found, kAhead));
    ASSERT_EQ(found->host_bytes, budgets.host_bytes);
    for (Budgets less = budgets; less.device_bytes + 4 * kPage < found->device_bytes; less.device_bytes += kPage) {
      EXPECT_FALSE(MakePlan(program, less, kAhead)) << "fits in " << less.device_bytes;
    }
  }
}

}  // namespace
}  // namespace tidemill::swap_scheduler
