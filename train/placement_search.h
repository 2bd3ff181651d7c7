// Which placements to try, fastest first. Pure.
#pragma once

#include <optional>
#include <vector>

#include "swap_scheduler/training_program.h"

namespace tidemill::train {

// What the user pinned; the rest is free.
struct PlacementRequest {
  std::optional<swap_scheduler::Shares> params, optimizer, gradients, activations;
  bool optimizer_off_device = false;  // its state is kept in a way that the device cannot step
};

// From everything on the device down to everything on nvme: first the optimizer leaves the device, with the gradients
// that it reads, then activations, then params; what host memory cannot hold goes to nvme in the same order, the
// optimizer in quarters. Each obeys the request. Without an nvme tier none uses it, unless the request itself names it.
std::vector<swap_scheduler::Placement> PlacementCandidates(const PlacementRequest& request, bool has_nvme);

}  // namespace tidemill::train
