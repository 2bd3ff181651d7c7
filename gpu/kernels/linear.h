// Matrix products of a linear layer on host threads: gpu/operations.h, LinearForward and its two backward passes.
//
// The output is cut into tiles by its shape alone, and every tile is one single-threaded fp32 product of oneDNN, so the
// threads only decide who computes a tile. oneDNN's own (OpenMP) threads are never started. The forward pass first lays
// the weights out transposed in the workspace, which makes the product 5 to 10 % faster as a whole; bf16
// weights are widened on the way.
//
//   Bits        the same for any number of threads and any addresses. oneDNN picks its kernel by instruction set, so
//               products may differ in the last bit between machine types, and only there.
//   Threads     uses the whole team; one call at a time per team and workspace.
//   Memory      oneDNN packs operands into buffers of its own while a tile is computed: below 4 MiB per thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/thread_team.h"
#include "gpu/kernels/row_kernels.h"
#include "gpu/operations.h"

namespace tidemill::gpu {

// What one call needs for a weight matrix within these bounds.
uint64_t LinearWorkspaceBytes(int64_t weight_cols, int64_t weight_elements);

struct LinearContext {
  ThreadTeam& team;
  const RowKernels& kernels;
  std::span<std::byte> workspace;  // 64-byte aligned
};

void LinearForward(const LinearContext& context, const float* x, const Weights& w, const Weights& bias, float* y,
                   int64_t rows, bool accumulate);
void LinearBackwardInput(const LinearContext& context, const float* dy, const Weights& w, float* dx, int64_t rows,
                         bool accumulate);
void LinearBackwardWeights(const LinearContext& context, const float* x, const float* dy, int64_t in, int64_t out,
                           Fold dw, Fold dbias, int64_t rows);

}  // namespace tidemill::gpu
