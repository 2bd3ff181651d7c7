#include "offload/schedule.h"

#include <algorithm>

#include "base/check.h"

namespace tidemill::offload {

using swap_scheduler::Event;
using swap_scheduler::EventId;
using swap_scheduler::Plan;
using swap_scheduler::Program;

Schedule MakeSchedule(const Program& program, const Plan& plan) {
  Schedule schedule;
  schedule.program = &program;
  schedule.plan = &plan;
  schedule.place_in_lane.resize(program.operations.size());
  std::vector<LanePoint> point_of(plan.events.size());
  for (EventId id = 0; id < plan.events.size(); ++id) {
    const Event& event = plan.events[id];
    auto& lane = schedule.lanes[static_cast<size_t>(event.lane)];
    point_of[id] = {event.lane, static_cast<uint32_t>(lane.size())};
    Schedule::Entry entry{id, static_cast<uint32_t>(schedule.points.size()), 0};
    for (const EventId before : event.waits_for) {
      TM_CHECK(before < id);
      if (plan.events[before].lane == event.lane) continue;  // a lane is ordered anyway
      schedule.points.push_back(point_of[before]);
      ++entry.waits;
    }
    if (event.op >= 0) {
      const auto op = static_cast<size_t>(event.op);
      schedule.place_in_lane[op] = point_of[id].ordinal;
      schedule.uses_max = std::max(schedule.uses_max, static_cast<uint32_t>(program.operations[op].uses.size()));
    }
    lane.push_back(entry);
  }
  return schedule;
}

}  // namespace tidemill::offload
