#include "offload/optimizer_pass.h"

#include "cpu_adam/adam.h"

namespace tidemill::offload {

using swap_scheduler::Operation;
using swap_scheduler::ProgramPages;

void OptimizerPass::BeginStep(const OptimizerStep& step, bool apply) {
  apply_ = apply;
  decayed_ = step.Coefficients(true);
  plain_ = step.Coefficients(false);
}

void OptimizerPass::RunOnHost(const Operation& op, std::span<std::byte* const> views) {
  if (!apply_) return;
  const ProgramPages::State& tile = pages_.state[op.block][op.micro_batch];
  size_t next = 0;
  std::byte* const param = views[next++];
  auto* const rest = tile.rest ? reinterpret_cast<uint16_t*>(views[next++]) : nullptr;
  auto* const exp_avg = reinterpret_cast<float*>(views[next++]);
  auto* const exp_avg_sq = reinterpret_cast<float*>(views[next++]);
  const std::byte* const grad = views[next++];
  ForEachRun(layout_.pages[op.block], tile, [&](bool decay, uint64_t in_page, uint64_t in_tile, uint64_t elements) {
    cpu_adam::MasterView master = cpu_adam::Fp32Master{reinterpret_cast<float*>(param) + in_page};
    if (rest != nullptr)
      master = cpu_adam::SplitMasterView{reinterpret_cast<uint16_t*>(param) + in_page, rest + in_tile};
    cpu_adam::GradView gradient = cpu_adam::Fp32Grad{reinterpret_cast<const float*>(grad) + in_page};
    if (grad_dtype_ == DType::kBf16) gradient = cpu_adam::Bf16Grad{reinterpret_cast<const uint16_t*>(grad) + in_page};
    cpu_adam::StepTile(decay ? decayed_ : plain_,
                       {elements, master, cpu_adam::Fp32Moments{exp_avg + in_tile, exp_avg_sq + in_tile}, gradient},
                       team_);
  });
}

}  // namespace tidemill::offload
