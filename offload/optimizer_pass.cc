#include "offload/optimizer_pass.h"

#include "cpu_adam/adam.h"

namespace tidemill::offload {

using swap_scheduler::Operation;
using swap_scheduler::ProgramPages;

void OptimizerPass::BeginStep(const OptimizerStep& step, bool apply) {
  apply_ = apply;
  decayed_ = step.Coefficients(true);
  plain_ = step.Coefficients(false);
  rounding_ = {step.seed, step.step, 0};
}

void OptimizerPass::RunOnHost(const Operation& op, std::span<std::byte* const> views) {
  if (!apply_) return;
  const ProgramPages::State& tile = pages_.state[op.block][op.micro_batch];
  const uint64_t first_of_page = layout_.ElementsBefore(op.block);
  size_t next = 0;
  std::byte* const param = views[next++];
  auto* const rest = tile.rest ? reinterpret_cast<uint16_t*>(views[next++]) : nullptr;
  std::byte* const exp_avg = views[next++];
  std::byte* const exp_avg_sq = views[next++];
  const std::byte* const grad = views[next++];
  ForEachRun(layout_.pages[op.block], tile, [&](bool decay, uint64_t in_page, uint64_t in_tile, uint64_t elements) {
    cpu_adam::MasterView master = cpu_adam::Fp32Master{reinterpret_cast<float*>(param) + in_page};
    auto* const halves = reinterpret_cast<uint16_t*>(param) + in_page;
    if (rest != nullptr) master = cpu_adam::SplitMasterView{halves, rest + in_tile};
    if (rest == nullptr && dtypes_.param == DType::kBf16) master = cpu_adam::Bf16Master{halves};
    cpu_adam::GradView gradient = cpu_adam::Fp32Grad{reinterpret_cast<const float*>(grad) + in_page};
    if (dtypes_.grad == DType::kBf16) gradient = cpu_adam::Bf16Grad{reinterpret_cast<const uint16_t*>(grad) + in_page};
    const cpu_adam::MomentView moments =
        cpu_adam::PageMoments(dtypes_.state, exp_avg, exp_avg_sq, tile.elements, in_tile);
    cpu_adam::RoundingKey rounding = rounding_;
    rounding.first_element = first_of_page + in_page;
    cpu_adam::StepTile(decay ? decayed_ : plain_, {elements, master, moments, gradient, rounding}, team_);
  });
}

}  // namespace tidemill::offload
