// From a memory plan to what is said about it.
#pragma once

#include <string>

#include "train/memory_plan.h"
#include "train/plan_report.h"
#include "train/preparation.h"

namespace tidemill::train {

// `plan` null: nothing fits, and `reason` says why and what would.
PlanReport ReportOf(const Preparation& preparation, const MemoryPlan* plan, const std::string& reason);

}  // namespace tidemill::train
