// The optimizer's share of a step: AdamW over tiles whose state is in host memory, on the adam lane.
//
//   Ownership   borrows everything it is made from; allocates nothing.
//   Threads     BeginStep() by the training loop, between steps or while no Adam operation can run; RunOnHost() by the
//               adam lane.
#pragma once

#include <algorithm>
#include <span>

#include "base/adam_rule.h"
#include "base/thread_team.h"
#include "cpu_adam/state_encoding.h"
#include "offload/engine.h"
#include "swap_scheduler/training_program.h"

namespace tidemill::offload {

struct OptimizerStep {
  AdamConfig adam;
  double weight_decay = 0;  // of the tensors that decay
  int64_t step = 1;         // applied steps, this one included
  double grad_scale = 1;    // the clipping factor
  uint64_t seed = 0;        // of stochastic rounding

  AdamCoefficients Coefficients(bool decay) const {
    return MakeAdamCoefficients(adam, decay ? weight_decay : 0, step, grad_scale);
  }
};

// Calls visit(segment's decay, offset in the page, offset in the tile, elements) for each run of one tensor within the
// tile.
template <typename Visit>
void ForEachRun(const swap_scheduler::ParamPage& page, const swap_scheduler::ProgramPages::State& tile,
                const Visit& visit) {
  const uint64_t end = tile.first_element + tile.elements;
  for (const swap_scheduler::Segment& segment : page.segments) {
    const uint64_t from = std::max(segment.page_offset, tile.first_element);
    const uint64_t to = std::min(segment.page_offset + segment.elements, end);
    if (from < to) visit(segment.decay, from, from - tile.first_element, to - from);
  }
}

struct OptimizerDtypes {
  DType param = DType::kF32, grad = DType::kF32;  // of a finished gradient
  cpu_adam::StateDtype state = cpu_adam::StateDtype::kFp32;
};

class OptimizerPass final : public HostWork {
 public:
  // A tile with a rest has a split master; without one, its param is the master. Stochastic rounding depends on an
  // element's place in the layout, never on where its page lives or is cut.
  OptimizerPass(const swap_scheduler::PageLayout& layout, const swap_scheduler::ProgramPages& pages,
                const OptimizerDtypes& dtypes, ThreadTeam& team)
      : layout_(layout), pages_(pages), dtypes_(dtypes), team_(team) {}

  // `apply` false: the step's operations leave everything as it is.
  void BeginStep(const OptimizerStep& step, bool apply);
  void RunOnHost(const swap_scheduler::Operation& op, std::span<std::byte* const> views) override;

 private:
  const swap_scheduler::PageLayout& layout_;
  const swap_scheduler::ProgramPages& pages_;
  const OptimizerDtypes dtypes_;
  ThreadTeam& team_;
  AdamCoefficients decayed_{}, plain_{};
  cpu_adam::RoundingKey rounding_{};
  bool apply_ = false;
};

}  // namespace tidemill::offload
