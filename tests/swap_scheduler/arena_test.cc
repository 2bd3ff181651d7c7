#include "swap_scheduler/arena.h"

#include <gtest/gtest.h>

#include <map>

namespace tidemill::swap_scheduler {
namespace {

constexpr uint64_t kUnit = 4096;

// An arena whose slots have the ranks that the test gives them.
class ArenaTest : public testing::Test {
 protected:
  Arena::Run Find(uint64_t units, uint32_t settled = 0) {
    return arena_.Find(units * kUnit, settled, [&](PageId page) { return rank_[page]; });
  }
  void Put(PageId page, uint64_t units, Rank rank = kStays) {
    const Arena::Run run = Find(units);
    ASSERT_TRUE(run.first != Arena::kNone && run.victims.empty());
    Clock clock;
    node_[page] = arena_.Carve(run, units * kUnit, page, clock);
    rank_[page] = rank;
  }
  uint64_t UnitOf(PageId page) { return arena_.offset(node_[page]) / kUnit; }

  Arena arena_{0, 10 * kUnit, 0};
  std::map<PageId, Rank> rank_;
  std::map<PageId, Arena::Node> node_;
};

TEST_F(ArenaTest, PacksSlotsFromTheStart) {
  Put(0, 2);
  Put(1, 3);
  EXPECT_EQ(UnitOf(0), 0u);
  EXPECT_EQ(UnitOf(1), 2u);
}

TEST_F(ArenaTest, SendsAwayTheNeighboursThatAreNeededLast) {
  Put(0, 4, 100);
  Put(1, 2, 50);
  Put(2, 2, 60);
  Put(3, 2, 40);
  EXPECT_EQ(Find(4).victims, std::vector<PageId>{0});
  rank_[0] = kStays;
  EXPECT_EQ(Find(4).victims, (std::vector<PageId>{1, 2}));
  rank_[2] = kStays;
  EXPECT_EQ(Find(4).first, Arena::kNone);
}

TEST_F(ArenaTest, TakesTheExactGapOfThoseThatAreFree) {
  for (PageId page = 0; page < 5; ++page) Put(page, 2);
  arena_.Release(node_[0], {}, 0);
  arena_.Release(node_[1], {}, 0);
  arena_.Release(node_[3], {}, 0);
  Put(9, 2);
  EXPECT_EQ(UnitOf(9), 6u);
}

TEST_F(ArenaTest, LeavesTheGapThatWasLeftLast) {
  for (PageId page = 0; page < 5; ++page) Put(page, 2);
  arena_.Release(node_[0], Clock(Lane::kUpload, 7), 0);
  arena_.Release(node_[2], Clock(Lane::kUpload, 3), 0);
  arena_.Release(node_[3], Clock(Lane::kUpload, 5), 0);
  const auto start = [&](const Arena::Run& run) { return arena_.offset(run.first) / kUnit; };
  EXPECT_EQ(start(Find(2, 0)), 4u);  // event 3 is the oldest
  EXPECT_EQ(start(Find(4, 6)), 4u);  // both have ended, the other gap is too small anyway
  EXPECT_EQ(start(Find(2, 4)), 4u);
}

TEST_F(ArenaTest, ANewSlotWaitsForAllThatWasInItsSpace) {
  Put(0, 5);
  Put(1, 5);
  arena_.Release(node_[0], Clock(Lane::kUpload, 7), 0);
  arena_.Release(node_[1], Clock(Lane::kCompute, 8), 0);
  Clock clock;
  arena_.Carve(Find(6), 6 * kUnit, 2, clock);
  EXPECT_EQ(clock.Events(), (std::vector<EventId>{7, 8}));
}

TEST_F(ArenaTest, AGapDoesNotWaitForANeighbourThatWasLeftLater) {
  Put(0, 2);  // the rest is free at once
  arena_.Release(node_[0], Clock(Lane::kDownload, 9), 0);
  Clock clock;
  arena_.Carve(Find(2), 2 * kUnit, 1, clock);
  EXPECT_TRUE(clock.Events().empty());
}

TEST_F(ArenaTest, CarvesABerthOutOfTheMiddleOfAGap) {
  Clock clock;
  const Arena::Node berth = arena_.CarveAt(3 * kUnit, 2 * kUnit, 0, clock);
  rank_[0] = kStays;
  EXPECT_EQ(arena_.offset(berth), 3 * kUnit);
  EXPECT_EQ(arena_.Occupants(0, 4 * kUnit), std::vector<PageId>{0});
  EXPECT_TRUE(arena_.Occupants(0, 3 * kUnit).empty());
  EXPECT_EQ(Find(6).first, Arena::kNone);
  EXPECT_NE(Find(5).first, Arena::kNone);
  EXPECT_FALSE(arena_.Contains(9 * kUnit, 2 * kUnit));
}

TEST(Arena, UsesSpaceAboveTheBerthsFirst) {
  Arena arena(kUnit, 9 * kUnit, 6 * kUnit);
  const auto stays = [](PageId) { return kStays; };
  EXPECT_EQ(arena.offset(arena.Find(2 * kUnit, 0, stays).first), 6 * kUnit);
  EXPECT_EQ(arena.offset(arena.Find(5 * kUnit, 0, stays).first), kUnit);
  EXPECT_NE(arena.Find(9 * kUnit, 0, stays).first, Arena::kNone);
}

}  // namespace
}  // namespace tidemill::swap_scheduler
