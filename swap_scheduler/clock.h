// Which events must have ended: per lane the latest one. A lane runs in order, so one event id for each says it all.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "swap_scheduler/plan.h"

namespace tidemill::swap_scheduler {

class Clock {
 public:
  Clock() = default;
  Clock(Lane lane, EventId event) { Add(lane, event); }

  void Add(Lane lane, EventId event) {
    auto& latest = next_[static_cast<size_t>(lane)];
    latest = std::max(latest, event + 1);
  }
  void Add(const Clock& other) {
    for (size_t i = 0; i < kLanes; ++i) next_[i] = std::max(next_[i], other.next_[i]);
  }

  // 0 if there is nothing to wait for; grows with the id of the last event.
  uint32_t Age() const { return *std::max_element(next_.begin(), next_.end()); }

  bool operator==(const Clock&) const = default;

  std::vector<EventId> Events() const {
    std::vector<EventId> events;
    for (const uint32_t next : next_) {
      if (next != 0) events.push_back(next - 1);
    }
    std::sort(events.begin(), events.end());
    return events;
  }

 private:
  std::array<uint32_t, kLanes> next_{};  // id + 1; 0: none
};

}  // namespace tidemill::swap_scheduler
