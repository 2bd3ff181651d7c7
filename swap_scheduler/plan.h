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
  // In the tier's arena, bytes; meaningless for kNvme: the store knows the slot.
  uint64_t from_offset = 0, to_offset = 0;
  std::vector<uint64_t> offsets{};   // operations only: where each of its uses is, in its tier's arena, in order
  std::vector<EventId> waits_for{};  // at most one for each lane, sorted
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

// Bytes of each kind.
using KindBytes = std::array<uint64_t, kKinds>;

struct Plan {
  std::vector<Event> events{};
  // Per page: offset of its berth in its home's arena; of use for persistent pages whose home is device or host (where
  // to load them), otherwise to be ignored.
  std::vector<uint64_t> home_offset{};
  std::array<uint64_t, kTiers> peak_bytes{};    // per tier: highest byte in use, berths included; nvme: sum of homes
  std::array<KindBytes, kTiers> peak_items{};   // what is there when most is: up to gaps, what peak_bytes consists of
  LaneBytes moved{};                            // per step
  std::array<KindBytes, kLanes> moved_items{};  // the same by lane and kind
};

// Plans one step. Pure and deterministic: the same program, budgets and look-ahead give the same plan everywhere.
//
//   Start, end  each persistent page is current in its home and nothing else exists; so a plan can be carried out again
//               and again. No event of a step may start before all of the step before have ended.
//   Homes       never below, and after a write back home: at once, unless the page is written again or dies first, with
//               no use on another tier before that and no gap between uses longer than the window (the tier's
//               look-ahead, at least one block). So a page on its way from hand to hand does not bounce, and one that
//               will rest does rest. Only lack of room sends a page home earlier.
//   Caches      a copy above (or below: a stop on the way) its home stays while there is room if the page is
//               persistent and read again; if it is transient only while its next use there is within the window, or
//               reserved. Who is needed farthest in the future leaves first.
//   Look-ahead  counted in phase blocks beyond the last operation issued, for each tier by itself. Places are reserved
//               first, and filled as soon as the content exists.
//   Minimum     the homes, the transient pages at rest, and the largest operation (for the host also: the largest page
//               on its way between device and storage): that much is planned whenever pages at rest lie together.
//   Errors      kDoesNotFit names the operation, the tier and the bytes it would need at least. A program that breaks
//               the rules in program.h ends the process.
//   Cost        a move looks at the gaps of an arena, and at its pages when one has to leave.
Result<Plan> MakePlan(const Program& program, const Budgets& budgets, const LookAhead& look_ahead);

}  // namespace tidemill::swap_scheduler
