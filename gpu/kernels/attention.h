// Causal softmax attention on host threads, blockwise: no more than kQueryBlock x kKeyBlock scores exist per thread.
// Dao et al., "FlashAttention" (2022), with the roles of rows and lanes chosen so that every reduction runs down a
// column: scores are kept transposed, [keys, queries], and the softmax of 16 queries is 16 lanes side by side.
//
// Shapes and meaning: gpu/operations.h, AttentionForward and AttentionBackward. All offsets are read on the calling
// thread's machine: this is the host's implementation, every pointer is host memory.
//
//   Bits        depend on inputs and shapes alone. A forward block is one unit of work. In the backward pass units add
//               to dk and dv of their kv head in a fixed order (by head, then by query block), waiting for their turn.
//   Threads     uses the whole team; one call at a time per team and workspace.
//   Ownership   `workspace` (64-byte aligned, AttentionWorkspaceBytes) is scratch, undefined before and after.
//   Limits      any head_dim, heads a multiple of kv_heads; fewer queries than keys only in the forward pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/thread_team.h"
#include "gpu/kernels/isa.h"
#include "gpu/operations.h"

namespace tidemill::gpu {

// Enough for either pass over micro-batches of at most `rows` rows in at most `sequences` sequences.
uint64_t AttentionWorkspaceBytes(const AttentionShape& shape, int64_t rows, int64_t sequences, size_t threads);

void AttentionForward(Isa isa, ThreadTeam& team, std::span<std::byte> workspace, const AttentionShape& shape,
                      const SequenceView& sequences, const float* q, const float* k, const float* v, float* o,
                      float* lse);

void AttentionBackward(Isa isa, ThreadTeam& team, std::span<std::byte> workspace, const AttentionShape& shape,
                       const SequenceView& sequences, const float* q, const float* k, const float* v, const float* o,
                       const float* lse, const float* d_o, float* dq, float* dk, float* dv);

}  // namespace tidemill::gpu
