// The host's row-wise kernels for one instruction set, as plain functions of one thread: a caller splits rows or
// elements over its threads. Arguments mean what they mean in gpu/operations.h.
#pragma once

#include <cstdint>

#include "gpu/kernels/isa.h"

namespace tidemill::gpu {

struct RowKernels {
  void (*swiglu_forward)(const float* gate, const float* up, float* out, int64_t count);
  void (*swiglu_backward)(const float* gate, const float* up, const float* d_out, float* dgate, float* dup,
                          int64_t count);
  void (*add)(const float* x, float* y, int64_t count);
  void (*widen_bf16)(const uint16_t* x, float* y, int64_t count);
};

const RowKernels& RowKernelsOf(Isa isa);

}  // namespace tidemill::gpu
