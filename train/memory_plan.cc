#include "train/memory_plan.h"

#include <algorithm>
#include <optional>
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

  // Every program of the run, the training ones first.
  std::vector<BuiltProgram> Programs(const Placement& placement, uint32_t group) const {
    std::vector<BuiltProgram> programs;
    StepShape shape = request_.shape;
    shape.group_size = group;
    for (const uint32_t window : request_.windows) {
      shape.micro_batches = window;
      programs.push_back(swap_scheduler::TrainingProgram(layout_, shape, placement));
    }
    if (request_.evaluation_batches > 0) {
      shape.micro_batches = request_.evaluation_batches;
      programs.push_back(swap_scheduler::EvaluationProgram(layout_, shape, placement, !request_.windows.empty()));
    }
    return programs;
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

// The fastest placement that can be planned, or why the last one cannot.
Result<MemoryPlan> PlanFirst(const PageLayout& layout, const MemoryPlanRequest& request) {
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
  return tl::make_unexpected(last);
}

// Limits that are whole MiB (small ones KiB), so that the number that is printed is the number that was planned.
uint64_t RoundUp(uint64_t bytes) { return AlignUp(bytes, bytes < 8 * kMiB ? 4 * kKiB : kMiB); }
std::string Exactly(uint64_t bytes) {
  return bytes % kMiB == 0 ? std::to_string(bytes / kMiB) + " MiB" : std::to_string(bytes / kKiB) + " KiB";
}

// Limits no smaller than the given ones in which every program of the run was planned, with the placement and the group
// that need least. Nothing if none were found.
std::optional<TierLimits> LimitsThatFit(const PageLayout& layout, MemoryPlanRequest request) {
  constexpr int kRounds = 8;  // each program may want a little more than the one before
  const uint32_t group = Planning(layout, request).Groups().back();
  const Placement placement = PlacementCandidates(request.placement, request.limits.has_nvme).back();
  const uint64_t nvme_bytes = std::exchange(request.limits.nvme_bytes, UINT64_MAX);
  for (int round = 0; round < kRounds; ++round) {
    const Planning planning(layout, request);
    if (const auto plan = planning.Try(placement, group, false); plan.has_value()) {
      request.limits.nvme_bytes = plan->peak_bytes[2] > nvme_bytes ? RoundUp(plan->peak_bytes[2]) : nvme_bytes;
      return request.limits;
    }
    for (const BuiltProgram& built : planning.Programs(placement, group)) {
      const auto fit =
          swap_scheduler::SmallestThatFits(built.program, Planning(layout, request).budgets(), request.look_ahead);
      if (!fit.has_value()) return std::nullopt;
      TierLimits& limits = request.limits;
      const uint64_t device = fit->device_bytes + request.device_fixed_bytes,
                     host = fit->host_bytes + request.host_fixed_bytes;
      if (device > limits.device_bytes) limits.device_bytes = RoundUp(device);
      if (host > limits.host_bytes) limits.host_bytes = RoundUp(host);
    }
  }
  return std::nullopt;
}

// What to change so that it fits: limits that were planned, and a swap directory where one would do.
std::string SmallestChange(const PageLayout& layout, const MemoryPlanRequest& request) {
  std::vector<std::string> changes;
  if (const auto limits = LimitsThatFit(layout, request)) {
    if (limits->device_bytes > request.limits.device_bytes)
      changes.push_back(Exactly(limits->device_bytes) + " of device memory (--device-memory, within mem= of --device)");
    if (limits->host_bytes > request.limits.host_bytes)
      changes.push_back(Exactly(limits->host_bytes) + " of host memory (--host-memory)");
    if (limits->nvme_bytes > request.limits.nvme_bytes)
      changes.push_back(Exactly(limits->nvme_bytes) + " of swap (--swap-size)");
  }
  std::string text;
  for (const std::string& change : changes) text += (text.empty() ? "" : " and ") + change;
  if (request.limits.has_nvme) return text;
  MemoryPlanRequest with_nvme = request;
  with_nvme.limits.has_nvme = true;
  if (PlanFirst(layout, with_nvme).has_value())
    text += (text.empty() ? "" : ", or ") + std::string("a swap directory (--swap-dir)");
  return text;
}

}  // namespace

Result<MemoryPlan> PlanMemory(const PageLayout& layout, const MemoryPlanRequest& request) {
  TM_CHECK(!request.windows.empty() || request.evaluation_batches > 0);
  auto plan = PlanFirst(layout, request);
  if (plan.has_value() || plan.error().code != ErrorCode::kDoesNotFit) return plan;
  if (const std::string change = SmallestChange(layout, request); !change.empty())
    plan.error().message += "; the smallest change that would fit: " + change;
  return plan;
}

}  // namespace tidemill::train
