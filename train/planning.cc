#include "train/planning.h"

#include <array>

#include "train/jobs.h"
#include "train/machine.h"
#include "train/session.h"
#include "train/swap_setup.h"
#include "train/training_job.h"

namespace tidemill::train {
namespace {

using swap_scheduler::Kind;
using swap_scheduler::Shares;
using swap_scheduler::Tier;

// As --place-params and its like would spell it.
std::string HomeText(const Shares& shares) {
  PlaceFlag place;
  for (size_t tier = 0; tier < swap_scheduler::kTiers; ++tier) {
    if (shares[tier] > 0) place.shares.push_back({static_cast<Tier>(tier), shares[tier]});
  }
  return FormatPlaceFlag(place);
}

void FillTier(const Preparation& preparation, const MemoryPlan* plan, Tier tier, PlanReport& report) {
  const auto index = static_cast<size_t>(tier);
  const TierLimits& limits = preparation.limits;
  PlanReport::Tier& out = report.tiers[index];
  if (tier == Tier::kDevice) out.budget_bytes = limits.device_bytes;
  if (tier == Tier::kHost) out.budget_bytes = limits.host_bytes;
  if (tier == Tier::kNvme && limits.nvme_bytes != UINT64_MAX) out.budget_bytes = limits.nvme_bytes;
  if (plan == nullptr) return;
  out.peak_bytes = plan->peak_bytes[index];
  // Without --swap-size the tier takes what it needs, and the directories have it or refuse.
  if (tier == Tier::kNvme && limits.has_nvme && !out.budget_bytes) out.budget_bytes = out.peak_bytes;
  uint64_t listed = 0;
  auto add = [&](std::string name, uint64_t bytes) {
    if (bytes > 0) out.items.emplace_back(std::move(name), bytes);
    listed += bytes;
  };
  const auto& items = plan->Any().plan.peak_items[index];
  for (size_t kind = 0; kind < swap_scheduler::kKinds; ++kind)
    add(std::string(Name(static_cast<Kind>(kind))), items[kind]);
  if (tier == Tier::kDevice) add("buffers", preparation.device_fixed_bytes);
  if (tier == Tier::kHost) add("loading and saving", preparation.host_fixed_bytes);
  if (out.peak_bytes > listed) add(tier == Tier::kNvme ? "second slots" : "gaps", out.peak_bytes - listed);
}

// What is known of how fast the lanes are: a device's throttles hold whatever was measured of the real drives.
void FillRates(const TierOptions& tiers, PlanReport& report) {
  const auto set = [&](size_t lane, std::optional<double> measured, double assumed) {
    PlanReport::Lane& out = report.lanes[lane];
    out.measured = measured.has_value() && (assumed <= 0 || *measured < assumed);
    if (out.measured) out.bytes_per_s = measured;
    if (!out.measured && assumed > 0) out.bytes_per_s = assumed;
  };
  const SwapRates rates = ProfileSwapRates(tiers);
  const IoProfile none, &profile = tiers.io_profile.has_value() ? *tiers.io_profile : none;
  set(1, profile.upload_bytes_per_s, tiers.device.pcie_bytes_per_s);
  set(2, profile.download_bytes_per_s, tiers.device.pcie_bytes_per_s);
  set(3, rates.read_bytes_per_s, tiers.device.nvme_read_bytes_per_s);
  set(4, rates.write_bytes_per_s, tiers.device.nvme_write_bytes_per_s);
}

}  // namespace

PlanReport ReportOf(const Preparation& preparation, const MemoryPlan* plan, const std::string& reason) {
  PlanReport report;
  report.parameters = CountParameters(preparation.files.tensors, false);
  report.trainable_parameters = CountParameters(preparation.files.tensors, true);
  report.fits = plan != nullptr;
  report.smallest_change = reason;
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme}) FillTier(preparation, plan, tier, report);
  if (plan == nullptr) return report;
  report.homes = {{"params", HomeText(plan->placement.params)},
                  {"optimizer", HomeText(plan->placement.optimizer)},
                  {"gradients", HomeText(plan->placement.gradients)},
                  {"activations", HomeText(plan->placement.activations)}};
  if (!plan->training.empty()) {
    report.state_dtype = cpu_adam::StateDtypeName(preparation.job.state_dtype);
    report.master_dtype = preparation.job.master_dtype == DType::kBf16 ? "bf16" : "fp32";
  }
  for (const swap_scheduler::Page& page : plan->Any().built.program.pages)
    report.state_bytes += page.kind == Kind::kExpAvg || page.kind == Kind::kExpAvgSq ? page.bytes : 0;
  // The host arena is registered with io_uring where pages live on nvme.
  if (plan->peak_bytes[2] > 0) report.pinned_bytes = plan->peak_bytes[1] - preparation.host_fixed_bytes;
  const swap_scheduler::LaneBytes& moved = plan->Any().plan.moved;
  const std::array bytes{uint64_t{0}, moved.upload, moved.download, moved.nvme_read, moved.nvme_write, uint64_t{0}};
  for (size_t lane = 0; lane < bytes.size(); ++lane) report.lanes[lane].bytes = bytes[lane];
  FillRates(preparation.tiers, report);
  report.nvme_bytes_written_per_step = moved.nvme_write;
  return report;
}

Result<PlanReport> PlanRun(const PlanOptions& options) {
  const RunConfig& config = options.run;
  TM_ASSIGN_OR_RETURN(ModelFiles files, OpenModel(config.model, config.freeze, false));
  TM_ASSIGN_OR_RETURN(const std::unique_ptr<gpu::Device> device, OpenDevice(config.tiers));
  JobShape job = LargestTrainingJob(config);
  if (!config.train_data.empty()) {
    TM_ASSIGN_OR_RETURN(const TrainingData data, TrainingData::Open(config, files));
    job = TrainingJob(config, data, nullptr);
  }
  TM_ASSIGN_OR_RETURN(const Preparation preparation,
                      Prepare(std::move(files), config.tiers, job, *device, DescribeMachine().usable_memory_bytes()));
  const auto plan = PlanOf(preparation);
  if (plan.has_value()) return ReportOf(preparation, &*plan, "");
  if (plan.error().code != ErrorCode::kDoesNotFit) return tl::make_unexpected(plan.error());
  return ReportOf(preparation, nullptr, plan.error().message);
}

}  // namespace tidemill::train
