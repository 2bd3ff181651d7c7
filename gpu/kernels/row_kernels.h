// The host's row-wise kernels for one instruction set, as plain functions of one thread: the caller splits rows,
// columns or elements over its threads. Arguments mean what they mean in gpu/operations.h; `weights` and `grad` are
// typed bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/adam_rule.h"
#include "base/dtype.h"
#include "gpu/kernels/isa.h"

namespace tidemill::gpu {

struct RowKernels {
  // One row; returns its inverse_rms.
  float (*rms_norm_forward)(const float* x, const std::byte* w, DType dtype, float epsilon, float* y, int64_t cols);
  void (*rms_norm_backward)(const float* x, const std::byte* w, DType dtype, float inverse_rms, const float* dy,
                            float* dx, bool accumulate, int64_t cols);
  // The first `cols` columns of rows that are `stride` apart.
  void (*rms_norm_weight_gradient)(const float* x, const float* dy, const float* inverse_rms, int64_t rows,
                                   int64_t cols, int64_t stride, float* dw, bool accumulate);
  void (*bias_gradient)(const float* dy, int64_t rows, int64_t cols, int64_t stride, float* dbias, bool accumulate);
  // One row of heads; sign -1 rotates back.
  void (*rope)(float* x, const float* cosines, const float* sines, int32_t heads, int32_t head_dim, float sign);
  void (*swiglu_forward)(const float* gate, const float* up, float* out, int64_t count);
  void (*swiglu_backward)(const float* gate, const float* up, const float* d_out, float* dgate, float* dup,
                          int64_t count);
  void (*add)(const std::byte* x, DType dtype, float* y, int64_t count);
  void (*widen_bf16)(const uint16_t* x, float* y, int64_t count);
  // Weights with rows and columns exchanged: to[c * to_stride + r] = from[r * cols + c].
  void (*transpose)(const std::byte* from, DType dtype, int64_t rows, int64_t cols, float* to, int64_t to_stride);
  // Returns the sum of squares.
  double (*finish_grad)(const float* fold, const float* other, std::byte* grad, DType grad_dtype, int64_t count);
  // rest == null: param is fp32.
  void (*adam)(const AdamCoefficients& k, std::byte* param, uint16_t* rest, float* exp_avg, float* exp_avg_sq,
               const std::byte* grad, DType grad_dtype, int64_t count);
  // Computes for nothing, from registers alone, and returns how many operations that were (gpu/compute_bench.h).
  double (*spend_flops)(int64_t rounds);
};

const RowKernels& RowKernelsOf(Isa isa);

}  // namespace tidemill::gpu
