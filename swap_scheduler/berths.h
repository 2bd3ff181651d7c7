// Fixed places: persistent homes, and the pages of one step that rest in the tier that is their home. What may not
// leave would otherwise spread over the arena and cut it to pieces.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "swap_scheduler/future.h"

namespace tidemill::swap_scheduler {

inline constexpr uint64_t kNoBerth = std::numeric_limits<uint64_t>::max();

struct Berths {
  std::vector<uint64_t> offset{};        // per page, in its home's arena; kNoBerth: none
  std::array<uint64_t, 2> homes{};       // bytes of persistent homes: [0, homes) of a tier is theirs for ever
  std::array<uint64_t, 2> parked_end{};  // [homes, parked_end): berths of transient pages, shared over time
};

// Persistent homes in page order from 0; behind them each transient page that ever rests in its home, in the order in
// which they are first used, at the lowest offset that is free for all of its life; behind those, for want of room
// only, the transient pages that pass from hand to hand and never rest. Until a page comes and after it has died,
// others may use the bytes. A page for which `budgets` have no room gets no berth.
Berths LayOutBerths(const Program& program, const Future& future, const Budgets& budgets);

}  // namespace tidemill::swap_scheduler
