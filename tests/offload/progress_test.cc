#include "offload/progress.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>

namespace tidemill::offload {
namespace {

using swap_scheduler::Lane;

TEST(Progress, APointIsReachedWhenItsEventHasEndedNotBefore) {
  Progress progress;
  std::array<int, 2> order{};
  int next = 0;
  std::thread waiter([&] {
    const std::array points{LanePoint{Lane::kUpload, 1}};
    EXPECT_TRUE(progress.WaitFor(points));
    order[1] = ++next;
  });
  progress.Finish(Lane::kUpload);
  order[0] = ++next;
  progress.Finish(Lane::kUpload);
  waiter.join();
  EXPECT_EQ(order[0], 1);
  EXPECT_EQ(order[1], 2);
}

TEST(Progress, AFailureWakesEveryoneAndTheFirstIsKept) {
  Progress progress;
  std::thread waiter([&] {
    const std::array points{LanePoint{Lane::kNvmeRead, 0}};
    EXPECT_FALSE(progress.WaitFor(points));
  });
  progress.Fail({ErrorCode::kStorage, "first"});
  progress.Fail({ErrorCode::kCorrupt, "second"});
  waiter.join();
  EXPECT_FALSE(progress.WaitForCount(Lane::kCompute, 1));
  EXPECT_EQ(progress.status().error().message, "first");
  progress.Restart();
  EXPECT_TRUE(progress.status().has_value());
}

}  // namespace
}  // namespace tidemill::offload
