// A plan made ready to be carried out: each lane's events in order, each with the points it waits for.
//
// Made once for each program, before the first step, so that a step decides and allocates nothing.
#pragma once

#include <array>
#include <vector>

#include "offload/progress.h"
#include "swap_scheduler/plan.h"
#include "swap_scheduler/program.h"

namespace tidemill::offload {

struct Schedule {
  struct Entry {
    swap_scheduler::EventId event = 0;
    uint32_t first_wait = 0, waits = 0;  // into `points`
  };

  const swap_scheduler::Program* program = nullptr;  // both outlive the schedule
  const swap_scheduler::Plan* plan = nullptr;
  std::array<std::vector<Entry>, swap_scheduler::kLanes> lanes;
  std::vector<LanePoint> points;
  std::vector<uint32_t> place_in_lane;  // of each operation
  uint32_t uses_max = 0;                // of one operation

  const std::vector<Entry>& Lane(swap_scheduler::Lane lane) const { return lanes[static_cast<size_t>(lane)]; }
  std::span<const LanePoint> Waits(const Entry& entry) const { return {points.data() + entry.first_wait, entry.waits}; }
};

Schedule MakeSchedule(const swap_scheduler::Program& program, const swap_scheduler::Plan& plan);

}  // namespace tidemill::offload
