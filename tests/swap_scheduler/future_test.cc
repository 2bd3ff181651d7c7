#include "swap_scheduler/future.h"

#include <gtest/gtest.h>

#include "tests/fakes/programs.h"

namespace tidemill::swap_scheduler {
namespace {

using enum Tier;
using enum Access;

TEST(Future, KnowsTheNextReadOfEachCopyUntilItIsStale) {
  fakes::ProgramWriter w;
  const PageId page = w.Persistent(kHost);
  w.On(kDevice, 0, {{page, kRead}});  // 0
  w.On(kHost, 0, {{page, kUpdate}});  // 1: a device copy is stale after this
  w.On(kDevice, 0, {{page, kRead}});  // 2
  w.On(kDevice, 0, {{page, kMake}});  // 3: the content before it is lost
  Future future(w.program(), {2, 2});
  EXPECT_EQ(future.NextRead(page, kDevice), 1u);
  EXPECT_EQ(future.NextRead(page, kHost), 2u);
  EXPECT_EQ(future.NextReadAnywhere(page), 1u);
  future.Advance(page, 0);
  EXPECT_EQ(future.NextRead(page, kDevice), kNever);
  EXPECT_EQ(future.NextTouch(page, kDevice), 3u);
  future.Advance(page, 1);
  EXPECT_EQ(future.NextRead(page, kDevice), 3u);
  future.Advance(page, 2);
  EXPECT_EQ(future.NextReadAnywhere(page), kNever);
  EXPECT_EQ(future.NextTouch(page, kDevice), 4u);
  EXPECT_EQ(future.NextTouch(page, kHost), kNever);
}

TEST(Future, AnOperationWantsThePresentVersionUnlessSomebodyWritesBefore) {
  fakes::ProgramWriter w;
  const PageId page = w.Persistent(kHost);
  w.On(kDevice, 0, {{page, kRead}});
  w.On(kDevice, 0, {{page, kUpdate}});
  w.On(kDevice, 0, {{page, kRead}});
  Future future(w.program(), {2, 2});
  EXPECT_TRUE(future.WantedBy(page, 1));
  EXPECT_FALSE(future.WantedBy(page, 2));
  future.Advance(page, 1);
  EXPECT_TRUE(future.WantedBy(page, 2));
}

// Made by operation 0 of block 0; then used once more as given.
bool GoesHomeBefore(const LookAhead& ahead, Tier tier, uint32_t block, Access access, bool dies) {
  fakes::ProgramWriter w;
  const PageId page = w.Transient(kNvme);
  w.On(kDevice, 0, {{page, kMake}});
  w.On(tier, block, {{page, access, dies}});
  if (!dies) w.On(tier, block + 50, {{page, kRead, true}});
  Future future(w.program(), ahead);
  future.Advance(page, 0);
  return future.GoesHomeNow(page, 0);
}

TEST(Future, AWrittenPageGoesHomeUnlessItIsWrittenAgainOrDiesSoonOnTheSameTier) {
  EXPECT_FALSE(GoesHomeBefore({2, 2}, kDevice, 2, kRead, true));
  EXPECT_FALSE(GoesHomeBefore({2, 2}, kDevice, 2, kUpdate, false));
  EXPECT_FALSE(GoesHomeBefore({2, 2}, kDevice, 2, kMake, false));
  EXPECT_TRUE(GoesHomeBefore({2, 2}, kDevice, 2, kRead, false));  // and rests for long after
  EXPECT_TRUE(GoesHomeBefore({2, 2}, kDevice, 3, kRead, true));   // not soon
  EXPECT_TRUE(GoesHomeBefore({2, 2}, kHost, 0, kRead, true));     // not the same tier
  EXPECT_FALSE(GoesHomeBefore({0, 0}, kDevice, 1, kRead, true));  // the window is never less than a block
  EXPECT_TRUE(GoesHomeBefore({0, 0}, kDevice, 2, kRead, true));
}

}  // namespace
}  // namespace tidemill::swap_scheduler
