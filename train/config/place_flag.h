// Where the pages of a kind have their home: `auto`, one tier, or shares of several ("host=0.4,nvme").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "swap_scheduler/program.h"

namespace tidemill::train {

struct TierShare {
  swap_scheduler::Tier tier;
  double share;  // of the kind's bytes, above 0 and at most 1
};

struct PlaceFlag {
  std::vector<TierShare> shares;  // in the order given, adding up to 1; empty: the planner chooses

  bool automatic() const { return shares.empty(); }
  bool Names(swap_scheduler::Tier tier) const;
};

// "auto"; or tiers separated by commas, each once, each with "=SHARE" except at most one, which takes the rest. Errors
// name `where` ("--place-optimizer").
Result<PlaceFlag> ParsePlaceFlag(std::string_view text, std::string_view where);

// The text that gives `place` back, for logs.
std::string FormatPlaceFlag(const PlaceFlag& place);

}  // namespace tidemill::train
