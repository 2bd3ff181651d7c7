#include "offload/schedule.h"

#include <gtest/gtest.h>

namespace tidemill::offload {
namespace {

using swap_scheduler::Event;
using swap_scheduler::Lane;
using swap_scheduler::Operation;
using swap_scheduler::Plan;
using swap_scheduler::Program;

TEST(Schedule, WaitsNameTheLaneAndThePlaceInItAndLeaveOutTheOwnLane) {
  Program program;
  program.operations.resize(2);
  program.operations[1].uses.resize(3);
  Plan plan;
  plan.events.resize(4);
  plan.events[0].lane = Lane::kUpload;
  plan.events[1].lane = Lane::kUpload;
  plan.events[2].op = 0;
  plan.events[2].waits_for = {0};
  plan.events[3].op = 1;
  plan.events[3].waits_for = {1, 2};
  const Schedule schedule = MakeSchedule(program, plan);
  const auto& compute = schedule.Lane(Lane::kCompute);
  ASSERT_EQ(compute.size(), 2U);
  ASSERT_EQ(schedule.Waits(compute[0]).size(), 1U);
  EXPECT_EQ(schedule.Waits(compute[0])[0].ordinal, 0U);
  ASSERT_EQ(schedule.Waits(compute[1]).size(), 1U);  // event 2 is on the same lane
  EXPECT_EQ(schedule.Waits(compute[1])[0].lane, Lane::kUpload);
  EXPECT_EQ(schedule.Waits(compute[1])[0].ordinal, 1U);
  EXPECT_EQ(schedule.place_in_lane[1], 1U);
  EXPECT_EQ(schedule.uses_max, 3U);
}

}  // namespace
}  // namespace tidemill::offload
