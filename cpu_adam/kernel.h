// Internal: what the dispatcher and the per-instruction-set files share. Plain data and function pointers only; the
// files compiled for AVX include it, so nothing here may have a body that a linker could pick for everyone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/adam_rule.h"

namespace tidemill::cpu_adam {

enum class MasterForm : uint8_t { kFp32, kSplit, kFp32Bf16Copy, kFp32F16Copy, kBf16 };
enum class MomentForm : uint8_t { kFp32, kBf16, kInt8 };
enum class GradForm : uint8_t { kFp32, kBf16 };

constexpr size_t kBlock = 256;      // elements that share a scale (state_encoding.h)
constexpr size_t kSumChunk = 4096;  // elements summed on their own (grad_norm.h)
constexpr size_t kSumLanes = 16;    // accumulators within a chunk

// Two 32-bit keys for the generator of rounding.h; derived from (seed, step, index >> 32).
struct StreamKey {
  uint32_t first, second;
};

// A run of elements for one thread. Forms say which pointers are set and what they point to.
struct Slice {
  size_t count;
  MasterForm master_form;
  MomentForm moment_form;
  GradForm grad_form;
  float* master;
  uint16_t *param, *rest;
  void *exp_avg, *exp_avg_sq;
  uint8_t *exp_avg_scale, *exp_avg_sq_scale;
  const void* grad;
  uint32_t first_index;  // low half of the first element's index; even where a form is rounded
  StreamKey key;
};

// Returns whether every new master is finite.
using StepFn = bool (*)(const AdamCoefficients&, const Slice&);

// sums[c] = sum of squares of chunk c of `grad` (grad_norm.h gives the order).
using SumFn = void (*)(GradForm form, const void* grad, size_t count, double* sums);

// x = x * scale + grad * grad_scale for master and both moments, all fp32: the memory's speed (mix_body.h). Whole
// vectors only.
using MixFn = void (*)(const Slice& slice, bool prefetch, float scale, float grad_scale);

// Of one instruction set.
struct Kernels {
  StepFn step;
  SumFn sum;
  MixFn mix;
};
extern const Kernels kScalarKernels, kAvx2Kernels, kAvx512Kernels;

}  // namespace tidemill::cpu_adam
