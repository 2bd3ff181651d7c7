#include "gpu/kernels/elementwise.h"
#include "gpu/kernels/row_kernels.h"
#include "gpu/kernels/swiglu.h"

namespace tidemill::gpu::TM_ISA {
namespace {

constexpr HostGroup kGroup;

}  // namespace

extern const RowKernels kRowKernels;
const RowKernels kRowKernels = {
    .swiglu_forward = [](const float* gate, const float* up, float* out,
                         int64_t count) { SwiGluForward(kGroup, gate, up, out, count); },
    .swiglu_backward = [](const float* gate, const float* up, const float* d_out, float* dgate, float* dup,
                          int64_t count) { SwiGluBackward(kGroup, gate, up, d_out, dgate, dup, count); },
    .add = [](const float* x, float* y, int64_t count) { Add(kGroup, x, y, count); },
    .widen_bf16 = [](const uint16_t* x, float* y, int64_t count) { WidenBf16(kGroup, x, y, count); },
};

}  // namespace tidemill::gpu::TM_ISA
