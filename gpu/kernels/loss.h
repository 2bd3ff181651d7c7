// Cross-entropy over slices of the vocabulary, on host threads: gpu/operations.h, LossStatistics to LossGradient.
//
//   Bits        depend on inputs and shapes alone: rows are independent, and within a row exp(l - maximum) is summed in
//               fp32 over kLossChunk ids in 16 lanes, the chunks in fp64, the lanes by a fixed tree.
//   Threads     uses the whole team, one call at a time. LossFinish runs on the caller.
#pragma once

#include <cstdint>

#include "base/thread_team.h"
#include "gpu/kernels/isa.h"

namespace tidemill::gpu {

inline constexpr int64_t kLossChunk = 256;

void LossStatistics(Isa isa, ThreadTeam& team, const float* logits, int32_t first_id, int64_t slice,
                    const int32_t* targets, float* maximum, float* sum, float* target_logit, int64_t rows, bool first);

void LossFinish(Isa isa, const int32_t* targets, float* maximum, const float* sum, float* target_logit,
                double* loss_sum, int64_t rows);

void LossGradient(Isa isa, ThreadTeam& team, float* logits, int32_t first_id, int64_t slice, const int32_t* targets,
                  const float* lse, float scale, int64_t rows);

}  // namespace tidemill::gpu
