#include "gpu/kernels/adam.h"
#include "gpu/kernels/column_sums.h"
#include "gpu/kernels/elementwise.h"
#include "gpu/kernels/peak.h"
#include "gpu/kernels/rms_norm.h"
#include "gpu/kernels/rope.h"
#include "gpu/kernels/row_kernels.h"
#include "gpu/kernels/swiglu.h"
#include "gpu/kernels/transpose.h"

namespace tidemill::gpu::TM_ISA {
namespace {

constexpr HostGroup kGroup;

// Calls f with the bytes as what they hold: floats, or uint16_t for bf16.
template <typename F>
auto Typed(const std::byte* data, DType dtype, const F& f) {
  return dtype == DType::kBf16 ? f(reinterpret_cast<const uint16_t*>(data)) : f(reinterpret_cast<const float*>(data));
}

float NormForward(const float* x, const std::byte* w, DType dtype, float epsilon, float* y, int64_t cols) {
  return Typed(w, dtype, [&](auto* typed) { return RmsNormForward(kGroup, x, typed, epsilon, y, cols); });
}

void NormBackward(const float* x, const std::byte* w, DType dtype, float inverse_rms, const float* dy, float* dx,
                  bool accumulate, int64_t cols) {
  Typed(w, dtype, [&](auto* typed) { RmsNormBackward(kGroup, x, typed, inverse_rms, dy, dx, accumulate, cols); });
}

double Finish(const float* fold, const float* other, std::byte* grad, DType grad_dtype, int64_t count) {
  if (grad_dtype == DType::kBf16) return FinishGrad(kGroup, fold, other, reinterpret_cast<uint16_t*>(grad), count);
  return FinishGrad(kGroup, fold, other, reinterpret_cast<float*>(grad), count);
}

void Adam(const AdamCoefficients& k, std::byte* param, uint16_t* rest, float* exp_avg, float* exp_avg_sq,
          const std::byte* grad, DType grad_dtype, int64_t count) {
  Typed(grad, grad_dtype, [&](auto* typed) {
    if (rest == nullptr) {
      AdamMaster(kGroup, k, reinterpret_cast<float*>(param), exp_avg, exp_avg_sq, typed, count);
    } else {
      AdamSplit(kGroup, k, reinterpret_cast<uint16_t*>(param), rest, exp_avg, exp_avg_sq, typed, count);
    }
  });
}

}  // namespace

extern const RowKernels kRowKernels;
const RowKernels kRowKernels = {
    .rms_norm_forward = NormForward,
    .rms_norm_backward = NormBackward,
    .rms_norm_weight_gradient =
        [](const float* x, const float* dy, const float* inverse_rms, int64_t rows, int64_t cols, int64_t stride,
           float* dw,
           bool accumulate) { RmsNormWeightGradient(kGroup, x, dy, inverse_rms, rows, cols, stride, dw, accumulate); },
    .bias_gradient = [](const float* dy, int64_t rows, int64_t cols, int64_t stride, float* dbias,
                        bool accumulate) { BiasGradient(kGroup, dy, rows, cols, stride, dbias, accumulate); },
    .rope = [](float* x, const float* cosines, const float* sines, int32_t heads, int32_t head_dim,
               float sign) { Rope(kGroup, x, cosines, sines, heads, head_dim, sign); },
    .swiglu_forward = [](const float* gate, const float* up, float* out,
                         int64_t count) { SwiGluForward(kGroup, gate, up, out, count); },
    .swiglu_backward = [](const float* gate, const float* up, const float* d_out, float* dgate, float* dup,
                          int64_t count) { SwiGluBackward(kGroup, gate, up, d_out, dgate, dup, count); },
    .add = [](const std::byte* x, DType dtype, float* y,
              int64_t count) { Typed(x, dtype, [&](auto* typed) { Add(kGroup, typed, y, count); }); },
    .widen_bf16 = [](const uint16_t* x, float* y, int64_t count) { WidenBf16(kGroup, x, y, count); },
    .transpose =
        [](const std::byte* from, DType dtype, int64_t rows, int64_t cols, float* to, int64_t to_stride) {
          Typed(from, dtype, [&](auto* typed) { Transpose(typed, cols, rows, cols, to, to_stride); });
        },
    .finish_grad = Finish,
    .adam = Adam,
    .spend_flops = SpendFlops,
};

}  // namespace tidemill::gpu::TM_ISA
