// One row of logits at a time: the part of the loss that is compiled once per instruction set.
#pragma once

#include <cstdint>

#include "gpu/kernels/isa.h"

namespace tidemill::gpu {

struct LossRowKernels {
  float (*maximum)(const float* logits, int64_t count);
  // sum of exp(l - maximum)
  float (*sum)(const float* logits, int64_t count, float maximum);
  float (*exp)(float x);
  float (*log)(float x);
  // logits become exp(l - lse) * scale, at `target` (-1: nowhere) (exp(l - lse) - 1) * scale.
  void (*gradient)(float* logits, int64_t count, int64_t target, float lse, float scale);
};
const LossRowKernels& LossRowKernelsOf(Isa isa);

}  // namespace tidemill::gpu
