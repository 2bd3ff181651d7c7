// The row-wise operations of gpu/operations.h on host threads: rows, columns or elements are shared out over the team,
// and every row, column or chunk is one thread's from beginning to end. So the number of threads changes no bit.
//
//   Threads     uses the whole team, one call at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/thread_team.h"
#include "gpu/kernels/row_kernels.h"
#include "gpu/operations.h"

namespace tidemill::gpu {

struct RowContext {
  ThreadTeam& team;
  const RowKernels& kernels;
};

void RmsNormForward(const RowContext& context, const float* x, const Weights& w, float epsilon, float* y,
                    float* inverse_rms, int64_t rows, int64_t cols);
void RmsNormBackward(const RowContext& context, const float* x, const Weights& w, const float* inverse_rms,
                     const float* dy, float* dx, bool accumulate_dx, Fold dw, int64_t rows, int64_t cols);
void Rope(const RowContext& context, float* x, const int32_t* positions, const float* cosines, const float* sines,
          int64_t rows, int32_t heads, int32_t head_dim, bool inverse);
void SwiGluForward(const RowContext& context, const float* gate, const float* up, float* out, int64_t count);
void SwiGluBackward(const RowContext& context, const float* gate, const float* up, const float* d_out, float* dgate,
                    float* dup, int64_t count);
void Add(const RowContext& context, const float* x, float* y, int64_t count);
void FinishGrad(const RowContext& context, const float* fold, const float* other, std::byte* grad, DType grad_dtype,
                double* square_sum, int64_t count);
void Adam(const RowContext& context, const AdamCoefficients& k, std::byte* param, uint16_t* rest, float* exp_avg,
          float* exp_avg_sq, const std::byte* grad, DType grad_dtype, int64_t count);

}  // namespace tidemill::gpu
