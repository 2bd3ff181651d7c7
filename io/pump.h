// Keeps a number of requests going: as one ends, the next begins.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "io/engine.h"

namespace tidemill::io {

// Calls `next(slot)` -> std::optional<IoRequest> for each of `depth` slots, and again for a slot when its request has
// ended, after `finished(slot)` -> Status. Ends when every slot has nothing more, or at the first error; then requests
// may still be with the engine. Tags are the slots.
template <typename Next, typename Finished>
Status Pump(Engine& engine, size_t depth, const Next& next, const Finished& finished) {
  std::vector<IoRequest> starting;
  std::vector<IoCompletion> done(depth);
  starting.reserve(depth);
  const auto begin = [&](size_t slot) {
    if (std::optional<IoRequest> request = next(slot)) {
      request->tag = slot;
      starting.push_back(*request);
    }
  };
  for (size_t slot = 0; slot < depth; ++slot) begin(slot);
  while (true) {
    TM_RETURN_IF_ERROR(engine.Submit(starting));
    starting.clear();
    if (engine.outstanding() == 0) return Ok();
    TM_ASSIGN_OR_RETURN(const size_t count, engine.Reap(done, 1));
    for (size_t i = 0; i < count; ++i) {
      TM_RETURN_IF_ERROR(Status(done[i].status));
      TM_RETURN_IF_ERROR(finished(done[i].tag));
      begin(done[i].tag);
    }
  }
}

}  // namespace tidemill::io
