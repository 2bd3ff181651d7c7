// What to say when a program does not fit: the smallest change of the budgets that would do, found by planning.
#pragma once

#include "base/result.h"
#include "swap_scheduler/plan.h"

namespace tidemill::swap_scheduler {

// Bytes without which no plan is possible: a tier's persistent homes and the pages of its largest operation beside
// them; for the host also the largest page on its way between device and storage. A plan may need more.
Budgets LeastBudgets(const Program& program);

// Budgets no smaller than the given ones with which MakePlan was seen to succeed: the given ones if they do; else with
// one tier raised, by as little as was found (of two ways the one that raises less); else with both. For the smallest
// budgets of all start from {0, 0}.
//
//   Limits  whether a plan is found is not quite monotone in the budget, so there may be a smaller one. Steps are at
//           most 1/512 of the budget. Plans about twenty times.
//   Errors  kDoesNotFit when no budgets do.
Result<Budgets> SmallestThatFits(const Program& program, const Budgets& budgets, const LookAhead& look_ahead);

}  // namespace tidemill::swap_scheduler
