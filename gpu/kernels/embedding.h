// Embedding by slices of the vocabulary, on host threads: gpu/operations.h, EmbedForward and EmbedBackward.
//
//   Bits        an id's gradient is added up over its rows in order; threads share out columns, so that no two add to
//               the same element.
//   Threads     uses the whole team, one call at a time.
#pragma once

#include <cstdint>

#include "base/thread_team.h"
#include "gpu/operations.h"

namespace tidemill::gpu {

void EmbedForward(ThreadTeam& team, const Weights& table, int32_t first_id, const int32_t* ids, float* x, int64_t rows);

void EmbedBackward(ThreadTeam& team, const float* dx, const int32_t* ids, int32_t first_id, int64_t table_rows,
                   int64_t cols, Fold dtable, int64_t rows);

}  // namespace tidemill::gpu
