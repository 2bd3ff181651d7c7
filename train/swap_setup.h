// What the flags and the profile say about the nvme tier, as the store takes it.
//
//   Errors   kInvalidArgument: an engine that is not one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "offload/swap_space.h"
#include "train/config/tier_options.h"

namespace tidemill::train {

// A profile decides the engine (unless --io-engine names one), the block size, the depth (jobs and directories have a
// depth each, here they share one queue) and, where every directory has its speeds, how they share the pages. A
// profile's engine that this machine refuses now is a line in `notes`, and auto instead.
Result<offload::SwapConfig> MakeSwapConfig(const TierOptions& tiers, const std::string& identity,
                                           std::vector<std::string>& notes);

// What the profile says of the run's swap directories together, reading and writing at once as a step does; nothing
// where one of them has no such figure, or there are none.
struct SwapRates {
  std::optional<double> read_bytes_per_s, write_bytes_per_s;
};
SwapRates ProfileSwapRates(const TierOptions& tiers);

}  // namespace tidemill::train
