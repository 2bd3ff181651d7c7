// The budgets of a run: what the flags say, and what the machine has where they say nothing. Pure.
#pragma once

#include "train/config/tier_options.h"
#include "train/memory_plan.h"

namespace tidemill::train {

// Auto on a CPU, where both tiers share the machine's memory: 70 % of what is available for the device and 20 % for
// host memory; of a tier whose neighbour is given, 85 % of what that leaves.
TierLimits ResolveLimits(const TierOptions& options, uint64_t available_bytes);

PlacementRequest RequestedPlacement(const TierOptions& options);

}  // namespace tidemill::train
