// SwiGLU, elementwise: out = silu(gate) * up with silu(x) = x / (1 + exp(-x)). Shazeer, "GLU Variants Improve
// Transformer" (2020). Results may overwrite any operand: an element is read before it is written.
#pragma once

#include "gpu/kernels/row_group.h"
#include "gpu/kernels/vector_math.h"

namespace tidemill::gpu::TM_ISA {

template <typename Group>
void SwiGluForward(Group group, const float* gate, const float* up, float* out, int64_t count) {
  for (int64_t i = 0; i < count; i += group.size()) {
    const auto g = group.Load(gate, i, count);
    const auto silu = g / (Exp(-g) + 1.0F);
    group.Store(out, i, count, silu * group.Load(up, i, count));
  }
}

// With s = 1 / (1 + exp(-gate)): dup = d gate s, dgate = d up s (1 + gate (1 - s)).
template <typename Group>
void SwiGluBackward(Group group, const float* gate, const float* up, const float* d_out, float* dgate, float* dup,
                    int64_t count) {
  using F = typename Group::F;
  for (int64_t i = 0; i < count; i += group.size()) {
    const auto g = group.Load(gate, i, count);
    const auto u = group.Load(up, i, count);
    const auto d = group.Load(d_out, i, count);
    const auto s = 1.0F / (Exp(-g) + 1.0F);
    const auto slope = s * Fma(g, 1.0F - s, Set<F>(1.0F));
    group.Store(dup, i, count, d * (g * s));
    group.Store(dgate, i, count, d * u * slope);
  }
}

}  // namespace tidemill::gpu::TM_ISA
