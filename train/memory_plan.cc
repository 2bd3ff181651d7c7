#include "train/memory_plan.h"

#include <algorithm>
#include <utility>

#include "base/byte_size.h"
#include "base/check.h"
#include "swap_scheduler/smallest_fit.h"

namespace tidemill::train {
namespace {

using swap_scheduler::Budgets;
using swap_scheduler::BuiltProgram;
using swap_scheduler::PageLayout;
using swap_scheduler::Placement;
using swap_scheduler::Plan;
using swap_scheduler::Shares;
using swap_scheduler::StepShape;
using swap_scheduler::Tier;

bool Uses(const Placement& placement, Tier tier) {
  const auto index = static_cast<size_t>(tier);
  return std::max({placement.params[index], placement.optimizer[index], placement.gradients[index],
                   placement.activations[index]}) > 0;
}

// Both slots of a persistent page count.
uint64_t NvmeBytes(const swap_scheduler::Program& program) {
  uint64_t bytes = 0;
  for (const auto& page : program.pages) bytes += page.home == Tier::kNvme ? page.bytes * (page.persistent ? 2 : 1) : 0;
  return bytes;
}

class Planning {
 public:
  Planning(const PageLayout& layout, const MemoryPlanRequest& request) : layout_(layout), request_(request) {
    const TierLimits& limits = request.limits;
    budgets_.device_bytes = limits.device_bytes - std::min(limits.device_bytes, request.device_fixed_bytes);
    budgets_.host_bytes = limits.host_bytes - std::min(limits.host_bytes, request.host_fixed_bytes);
  }

  const Budgets& budgets() const { return budgets_; }

  // The largest group first: each halving reads the parameters twice as often.
  std::vector<uint32_t> Groups() const {
    const uint32_t all = request_.windows.empty() ? 1 : request_.windows.front();
    if (request_.group_size > 0) return {std::min(request_.group_size, all)};
    std::vector<uint32_t> groups{all};
    while (groups.back() > 1) groups.push_back((groups.back() + 1) / 2);
    return groups;
  }

  Result<MemoryPlan> Try(const Placement& placement, uint32_t group, bool keep_logits) const {
    MemoryPlan plan;
    plan.placement = placement;
    plan.shape = request_.shape;
    plan.shape.group_size = group;
    plan.shape.keep_logits = keep_logits;
    for (const uint32_t window : request_.windows) {
      plan.shape.micro_batches = window;
      TM_RETURN_IF_ERROR(
          Add(swap_scheduler::TrainingProgram(layout_, plan.shape, placement), plan.shape, plan.training));
    }
    if (request_.evaluation_batches > 0) {
      plan.shape.micro_batches = request_.evaluation_batches;
      TM_RETURN_IF_ERROR(
          Add(swap_scheduler::EvaluationProgram(layout_, plan.shape, placement, !request_.windows.empty()), plan.shape,
              plan.evaluation));
    }
    plan.shape.micro_batches = plan.Any().shape.micro_batches;
    SumPeaks(plan);
    if (plan.peak_bytes[2] > request_.limits.nvme_bytes)
      return Fail(ErrorCode::kDoesNotFit, "the nvme tier needs " + FormatBytes(plan.peak_bytes[2]) +
                                              ", both slots of every page included, and has " +
                                              FormatBytes(request_.limits.nvme_bytes) +
                                              " (--swap-size): raise it or free space in the swap directories");
    return plan;
  }

 private:
  Status Add(BuiltProgram built, const StepShape& shape, std::deque<PlannedProgram>& programs) const {
    TM_ASSIGN_OR_RETURN(Plan plan, swap_scheduler::MakePlan(built.program, budgets_, request_.look_ahead));
    programs.push_back({shape, std::move(built), std::move(plan)});
    return Ok();
  }

  void SumPeaks(MemoryPlan& plan) const {
    for (const auto* programs : {&plan.training, &plan.evaluation}) {
      for (const PlannedProgram& planned : *programs) {
        plan.peak_bytes[0] = std::max(plan.peak_bytes[0], planned.plan.peak_bytes[0]);
        plan.peak_bytes[1] = std::max(plan.peak_bytes[1], planned.plan.peak_bytes[1]);
        plan.peak_bytes[2] = std::max(plan.peak_bytes[2], NvmeBytes(planned.built.program));
      }
    }
    plan.peak_bytes[0] += request_.device_fixed_bytes;
    plan.peak_bytes[1] += request_.host_fixed_bytes;
  }

  const PageLayout& layout_;
  const MemoryPlanRequest& request_;
  Budgets budgets_;
};

// What to change, by the placement and the group that need least.
Error DoesNotFit(const PageLayout& layout, const MemoryPlanRequest& request, const Planning& planning,
                 const MemoryPlan& least, const Error& reason) {
  const StepShape& shape = least.shape;
  const BuiltProgram built = request.windows.empty()
                                 ? swap_scheduler::EvaluationProgram(layout, shape, least.placement, false)
                                 : swap_scheduler::TrainingProgram(layout, shape, least.placement);
  const auto fit = swap_scheduler::SmallestThatFits(built.program, planning.budgets(), request.look_ahead);
  if (!fit.has_value()) return reason;
  std::string change;
  const uint64_t device = fit->device_bytes + request.device_fixed_bytes,
                 host = fit->host_bytes + request.host_fixed_bytes;
  if (device > request.limits.device_bytes) change = FormatBytes(device) + " of device memory";
  if (host > request.limits.host_bytes)
    change += (change.empty() ? "" : " and ") + FormatBytes(host) + " of host memory (--host-memory)";
  return {reason.code, reason.message + "; the smallest change that would fit: " + change +
                           (request.limits.has_nvme ? "" : ", or a swap directory (--swap-dir)")};
}

}  // namespace

Result<MemoryPlan> PlanMemory(const PageLayout& layout, const MemoryPlanRequest& request) {
  TM_CHECK(!request.windows.empty() || request.evaluation_batches > 0);
  const Planning planning(layout, request);
  Error last{ErrorCode::kDoesNotFit, "no placement fits"};
  for (const Placement& placement : PlacementCandidates(request.placement, request.limits.has_nvme)) {
    if (Uses(placement, Tier::kNvme) && !request.limits.has_nvme)
      return Fail(ErrorCode::kInvalidArgument,
                  "a kind is placed on nvme and there is no nvme tier (--place-*): give a --swap-dir");
    for (const uint32_t group : planning.Groups()) {
      const bool resident =
          placement.activations == swap_scheduler::Everything(Tier::kDevice) && !request.windows.empty();
      for (const bool keep_logits : resident ? std::vector<bool>{true, false} : std::vector<bool>{false}) {
        auto plan = planning.Try(placement, group, keep_logits);
        if (plan.has_value() || plan.error().code != ErrorCode::kDoesNotFit) return plan;
        last = std::move(plan.error());
      }
    }
  }
  MemoryPlan least;
  least.placement = PlacementCandidates(request.placement, request.limits.has_nvme).back();
  least.shape = request.shape;
  least.shape.group_size = planning.Groups().back();
  least.shape.micro_batches = request.windows.empty() ? request.evaluation_batches : request.windows.front();
  return tl::make_unexpected(DoesNotFit(layout, request, planning, least, last));
}

}  // namespace tidemill::train
