// RMSNorm of one row, and the gradient of its weights down the rows. Zhang & Sennrich, "Root Mean Square Layer
// Normalization" (2019): y = x w / sqrt(mean(x^2) + epsilon). T is the weights' storage: float, or uint16_t for bf16.
#pragma once

#include "gpu/kernels/row_group.h"

namespace tidemill::gpu::TM_ISA {

// Returns the row's inverse_rms. y may be x.
template <typename Group, typename T>
float RmsNormForward(Group group, const float* x, const T* w, float epsilon, float* y, int64_t cols) {
  auto squares = Set<typename Group::F>(0.0F);
  for (int64_t i = 0; i < cols; i += group.size()) {
    const auto v = group.Load(x, i, cols);
    squares = Fma(v, v, squares);
  }
  const float inverse_rms = 1.0F / Sqrt(group.Sum(squares) / static_cast<float>(cols) + epsilon);
  for (int64_t i = 0; i < cols; i += group.size())
    group.Store(y, i, cols, group.Load(x, i, cols) * inverse_rms * group.Load(w, i, cols));
  return inverse_rms;
}

// With g = dy w: dx = inverse_rms g - x inverse_rms^3 mean(g x). dx may be dy when it is not added to.
template <typename Group, typename T>
void RmsNormBackward(Group group, const float* x, const T* w, float inverse_rms, const float* dy, float* dx,
                     bool accumulate, int64_t cols) {
  using F = typename Group::F;
  auto products = Set<F>(0.0F);
  for (int64_t i = 0; i < cols; i += group.size())
    products = Fma(group.Load(dy, i, cols) * group.Load(w, i, cols), group.Load(x, i, cols), products);
  const float cube = inverse_rms * inverse_rms * inverse_rms;
  const F slope = Set<F>(-cube * (group.Sum(products) / static_cast<float>(cols)));
  for (int64_t i = 0; i < cols; i += group.size()) {
    const auto g = group.Load(dy, i, cols) * group.Load(w, i, cols);
    const auto d = Fma(group.Load(x, i, cols), slope, g * inverse_rms);
    group.Store(dx, i, cols, accumulate ? group.Load(dx, i, cols) + d : d);
  }
}

}  // namespace tidemill::gpu::TM_ISA
