// The plan of a whole run: where each kind lives, and the plan of every kind of step, under the budgets.
//
// Pure: `tidemill plan` prints it, training carries it out. The first placement whose every program can be planned is
// taken, so "fits" means planned, never estimated.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/result.h"
#include "swap_scheduler/plan.h"
#include "swap_scheduler/training_program.h"
#include "train/placement_search.h"

namespace tidemill::train {

struct TierLimits {
  uint64_t device_bytes = 0, host_bytes = 0;  // budgets
  bool has_nvme = false;
  uint64_t nvme_bytes = UINT64_MAX;  // of the tier, both slots of every page included
};

struct MemoryPlanRequest {
  swap_scheduler::StepShape shape;  // micro_batches, group_size and keep_logits are decided here
  uint32_t group_size = 0;          // 0: auto, as many micro-batches as fit
  // Micro-batches of each kind of step: the full window first, then a short last one; empty: no training.
  std::vector<uint32_t> windows;
  uint32_t evaluation_batches = 0;  // micro-batches of an evaluation program; 0: none
  PlacementRequest placement;
  swap_scheduler::LookAhead look_ahead;
  TierLimits limits;
  uint64_t device_fixed_bytes = 0, host_fixed_bytes = 0;  // buffers beside the pages
};

struct PlannedProgram {
  swap_scheduler::StepShape shape;
  swap_scheduler::BuiltProgram built;
  swap_scheduler::Plan plan;
};

struct MemoryPlan {
  swap_scheduler::Placement placement;
  swap_scheduler::StepShape shape;
  std::deque<PlannedProgram> training;                        // one for each window; stable addresses
  std::deque<PlannedProgram> evaluation;                      // one, or none
  std::array<uint64_t, swap_scheduler::kTiers> peak_bytes{};  // fixed buffers included; nvme: both slots

  const PlannedProgram& Any() const { return training.empty() ? evaluation.front() : training.front(); }
};

// kDoesNotFit says what was missing with the placement that needs least, and the smallest budgets that were planned to
// fit.
Result<MemoryPlan> PlanMemory(const swap_scheduler::PageLayout& layout, const MemoryPlanRequest& request);

}  // namespace tidemill::train
