// What the planner decides: a list of events on lanes, with offsets and dependencies. Carrying it out needs no
// decision.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "swap_scheduler/program.h"

namespace tidemill::swap_scheduler {

using EventId = uint32_t;

// Either an operation (op >= 0) or the move of one page between neighbouring tiers. Events of a lane run in list order;
// an event starts when all of `waits_for` have ended. Every dependency has a smaller id, so the list cannot deadlock.
struct Event {
  Lane lane = Lane::kCompute;
  int32_t op = -1;  // index into Program::operations
  PageId page = 0;  // moves only
  Tier from = Tier::kHost, to = Tier::kHost;
  uint64_t from_offset = 0,
           to_offset = 0;          // in the tier's arena, bytes; meaningless for kNvme: the store knows the slot
  std::vector<uint64_t> offsets;   // operations only: where each of its uses is, in its tier's arena, in order
  std::vector<EventId> waits_for;  // at most one for each lane, sorted
};

struct Budgets {
  uint64_t device_bytes = 0, host_bytes = 0;  // for pages; scratch and buffers have been taken off before
  // The nvme tier is checked by the store: it holds every nvme home (twice if persistent).
};

struct LookAhead {
  uint32_t device_blocks = 2, host_blocks = 2;  // 0: everything is fetched on demand
};

struct LaneBytes {
  uint64_t upload = 0, download = 0, nvme_read = 0, nvme_write = 0;
};

struct Plan {
  std::vector<Event> events;
  std::vector<uint64_t> home_offset;  // per page: offset of its berth in its home's arena (device and host homes of
                                      // persistent pages); unused otherwise
  std::array<uint64_t, kTiers> peak_bytes{};  // per tier: highest byte in use, berths included; nvme: sum of homes
  LaneBytes moved;                            // per step
};

// Plans one step. Pure and deterministic. kDoesNotFit names the operation, the tier and the bytes it would need.
Result<Plan> MakePlan(const Program& program, const Budgets& budgets, const LookAhead& look_ahead);

}  // namespace tidemill::swap_scheduler
