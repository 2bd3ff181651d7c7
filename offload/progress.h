// How far each lane of a step has come, and whether one of them failed.
//
//   Threads   any number of lanes; every method is safe from each of them.
//   Limits    allocates nothing after construction, except the text of an error.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>

#include "base/result.h"
#include "swap_scheduler/plan.h"

namespace tidemill::offload {

// An event by its lane and its place in that lane.
struct LanePoint {
  swap_scheduler::Lane lane = swap_scheduler::Lane::kCompute;
  uint32_t ordinal = 0;
};

class Progress {
 public:
  void Restart();  // no lane has done anything; forgets the failure

  void Finish(swap_scheduler::Lane lane);  // the lane's next event has ended
  void Fail(Error error);                  // the first failure is kept; everyone who waits is woken

  // False if the step failed meanwhile.
  bool WaitFor(std::span<const LanePoint> points);
  bool WaitForCount(swap_scheduler::Lane lane, uint32_t count);

  Status status() const;

 private:
  bool Reached(std::span<const LanePoint> points) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::array<uint32_t, swap_scheduler::kLanes> done_{};
  Status status_;
};

}  // namespace tidemill::offload
