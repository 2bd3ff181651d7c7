#include "gpu/kernels/loss.h"

#include <algorithm>

#include "base/check.h"
#include "base/token_batch.h"
#include "gpu/kernels/loss_rows.h"

namespace tidemill::gpu {
namespace baseline {
extern const LossRowKernels kLossRowKernels;
}
namespace avx2 {
extern const LossRowKernels kLossRowKernels;
}
namespace avx512 {
extern const LossRowKernels kLossRowKernels;
}

const LossRowKernels& LossRowKernelsOf(Isa isa) {
  return PickIsa(isa, baseline::kLossRowKernels, avx2::kLossRowKernels, avx512::kLossRowKernels);
}

void LossStatistics(Isa isa, ThreadTeam& team, const float* logits, int32_t first_id, int64_t slice,
                    const int32_t* targets, float* maximum, float* sum, float* target_logit, int64_t rows, bool first) {
  TM_CHECK(slice > 0);
  const LossRowKernels& kernels = LossRowKernelsOf(isa);
  team.For(static_cast<size_t>(rows), 1, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) {
      const float* const row = logits + static_cast<int64_t>(r) * slice;
      const float own = kernels.maximum(row, slice);
      const float top = first ? own : std::max(own, maximum[r]);
      const float before = first ? 0 : sum[r] * kernels.exp(maximum[r] - top);
      sum[r] = before + kernels.sum(row, slice, top);
      maximum[r] = top;
      if (first) target_logit[r] = 0;
      const int64_t target = int64_t{targets[r]} - first_id;
      if (targets[r] != kIgnoredTarget && target >= 0 && target < slice) target_logit[r] = row[target];
    }
  });
}

void LossFinish(Isa isa, const int32_t* targets, float* maximum, const float* sum, float* target_logit,
                double* loss_sum, int64_t rows) {
  const LossRowKernels& kernels = LossRowKernelsOf(isa);
  double total = 0;
  for (int64_t r = 0; r < rows; ++r) {
    maximum[r] += kernels.log(sum[r]);
    target_logit[r] = targets[r] == kIgnoredTarget ? 0 : maximum[r] - target_logit[r];
    total += target_logit[r];
  }
  *loss_sum = total;
}

void LossGradient(Isa isa, ThreadTeam& team, float* logits, int32_t first_id, int64_t slice, const int32_t* targets,
                  const float* lse, float scale, int64_t rows) {
  const LossRowKernels& kernels = LossRowKernelsOf(isa);
  team.For(static_cast<size_t>(rows), 1, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) {
      float* const row = logits + static_cast<int64_t>(r) * slice;
      if (targets[r] == kIgnoredTarget) {
        std::fill(row, row + slice, 0.0F);
        continue;
      }
      const int64_t target = int64_t{targets[r]} - first_id;
      kernels.gradient(row, slice, target >= 0 && target < slice ? target : -1, lse[r], scale);
    }
  });
}

}  // namespace tidemill::gpu
