#include "gpu/kernels/row_operations.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace tidemill::gpu {
namespace {

constexpr int64_t kGrain = 8192;      // elements worth waking a thread for; a multiple of the lanes
constexpr int64_t kNormChunk = 4096;  // elements of one partial sum of squares: part of the contract

void CheckDType(DType dtype) { TM_CHECK(dtype == DType::kF32 || dtype == DType::kBf16); }

// body(first, last) over shares of the rows.
template <typename Body>
void ForRows(ThreadTeam& team, int64_t rows, int64_t cols, const Body& body) {
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, cols));
  team.For(static_cast<size_t>(rows), static_cast<size_t>(grain),
           [&](size_t begin, size_t end) { body(static_cast<int64_t>(begin), static_cast<int64_t>(end)); });
}

// body(first, count) over shares of the elements.
template <typename Body>
void ForElements(ThreadTeam& team, int64_t count, const Body& body) {
  team.For(static_cast<size_t>(count), kGrain,
           [&](size_t begin, size_t end) { body(static_cast<int64_t>(begin), static_cast<int64_t>(end - begin)); });
}

}  // namespace

void RmsNormForward(const RowContext& context, const float* x, const Weights& w, float epsilon, float* y,
                    float* inverse_rms, int64_t rows, int64_t cols) {
  CheckDType(w.dtype);
  TM_CHECK(w.rows * w.cols == cols);
  ForRows(context.team, rows, cols, [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r)
      inverse_rms[r] = context.kernels.rms_norm_forward(x + r * cols, w.data, w.dtype, epsilon, y + r * cols, cols);
  });
}

// The weights' gradient first: it reads dy, which dx may overwrite.
void RmsNormBackward(const RowContext& context, const float* x, const Weights& w, const float* inverse_rms,
                     const float* dy, float* dx, bool accumulate_dx, Fold dw, int64_t rows, int64_t cols) {
  CheckDType(w.dtype);
  TM_CHECK(w.rows * w.cols == cols && !(accumulate_dx && dx == dy));
  if (dw.data != nullptr) {
    context.team.For(static_cast<size_t>(cols), 16, [&](size_t begin, size_t end) {
      context.kernels.rms_norm_weight_gradient(x + begin, dy + begin, inverse_rms, rows,
                                               static_cast<int64_t>(end - begin), cols, dw.data + begin, dw.accumulate);
    });
  }
  ForRows(context.team, rows, cols, [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r)
      context.kernels.rms_norm_backward(x + r * cols, w.data, w.dtype, inverse_rms[r], dy + r * cols, dx + r * cols,
                                        accumulate_dx, cols);
  });
}

void Rope(const RowContext& context, float* x, const int32_t* positions, const float* cosines, const float* sines,
          int64_t rows, int32_t heads, int32_t head_dim, bool inverse) {
  TM_CHECK(head_dim % 2 == 0);
  const int64_t cols = static_cast<int64_t>(heads) * head_dim, half = head_dim / 2;
  ForRows(context.team, rows, cols, [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r)
      context.kernels.rope(x + r * cols, cosines + positions[r] * half, sines + positions[r] * half, heads, head_dim,
                           inverse ? -1.0F : 1.0F);
  });
}

void SwiGluForward(const RowContext& context, const float* gate, const float* up, float* out, int64_t count) {
  ForElements(context.team, count, [&](int64_t first, int64_t share) {
    context.kernels.swiglu_forward(gate + first, up + first, out + first, share);
  });
}

void SwiGluBackward(const RowContext& context, const float* gate, const float* up, const float* d_out, float* dgate,
                    float* dup, int64_t count) {
  ForElements(context.team, count, [&](int64_t first, int64_t share) {
    context.kernels.swiglu_backward(gate + first, up + first, d_out + first, dgate + first, dup + first, share);
  });
}

void Add(const RowContext& context, const float* x, float* y, int64_t count) {
  ForElements(context.team, count, [&](int64_t first, int64_t share) {
    context.kernels.add(reinterpret_cast<const std::byte*>(x + first), DType::kF32, y + first, share);
  });
}

// Chunks are summed by whoever has them and added in order afterwards, a batch of partial sums at a time.
void FinishGrad(const RowContext& context, const float* fold, const float* other, std::byte* grad, DType grad_dtype,
                double* square_sum, int64_t count) {
  CheckDType(grad_dtype);
  std::array<double, 512> partial;
  constexpr int64_t kBatch = static_cast<int64_t>(partial.size()) * kNormChunk;
  double sum = 0;
  for (int64_t start = 0; start < count; start += kBatch) {
    const int64_t batch = std::min(kBatch, count - start);
    const int64_t chunks = (batch + kNormChunk - 1) / kNormChunk;
    ForRows(context.team, chunks, kNormChunk, [&](int64_t first, int64_t last) {
      for (int64_t chunk = first; chunk < last; ++chunk) {
        const int64_t begin = start + chunk * kNormChunk, size = std::min(kNormChunk, start + batch - begin);
        partial[static_cast<size_t>(chunk)] =
            context.kernels.finish_grad(fold + begin, other == nullptr ? nullptr : other + begin,
                                        grad + static_cast<size_t>(begin) * SizeOf(grad_dtype), grad_dtype, size);
      }
    });
    for (int64_t chunk = 0; chunk < chunks; ++chunk) sum += partial[static_cast<size_t>(chunk)];
  }
  *square_sum = sum;
}

void Adam(const RowContext& context, const AdamCoefficients& k, std::byte* param, uint16_t* rest, float* exp_avg,
          float* exp_avg_sq, const std::byte* grad, DType grad_dtype, int64_t count) {
  CheckDType(grad_dtype);
  const int64_t param_bytes = rest == nullptr ? 4 : 2;
  ForElements(context.team, count, [&](int64_t first, int64_t share) {
    context.kernels.adam(k, param + first * param_bytes, rest == nullptr ? nullptr : rest + first, exp_avg + first,
                         exp_avg_sq + first, grad + static_cast<size_t>(first) * SizeOf(grad_dtype), grad_dtype, share);
  });
}

}  // namespace tidemill::gpu
