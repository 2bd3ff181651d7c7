// A micro-batch on the device, and the tables that go with it. Borrowed pointers, device memory.
#pragma once

#include <cstdint>

#include "gpu/operations.h"
#include "model/config.h"

namespace tidemill::model {

struct BatchView {
  int64_t rows = 0;
  const int32_t* ids = nullptr;        // [rows]
  const int32_t* positions = nullptr;  // [rows]
  const int32_t* targets = nullptr;    // [rows], kIgnoredTarget where none counts; not read by layers
  gpu::SequenceView sequences;
  const float* cosines = nullptr;  // [positions, head_dim / 2], more positions than any in `positions`
  const float* sines = nullptr;
};

gpu::AttentionShape AttentionShapeOf(const ModelConfig& config, int64_t layer);

// What Device::WorkspaceBytes wants to know: bounds over every operation that layers and head give to a stream. `rows`
// and `sequences` are the largest micro-batch's; weights are `weight_dtype`.
gpu::WorkspaceLimits WorkspaceLimitsOf(const ModelConfig& config, int64_t rows, int64_t sequences, DType weight_dtype);

}  // namespace tidemill::model
