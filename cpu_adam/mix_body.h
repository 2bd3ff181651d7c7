// Internal: Adam's memory streams without its arithmetic: four read, three of them written in place. The yardstick of
// bench.h, compiled per instruction set like the step, so that both move the same bytes with the same loads and stores.
#pragma once

#include "cpu_adam/kernel.h"
#include "cpu_adam/streams.h"

namespace tidemill::cpu_adam {
namespace {

template <typename S, bool kPrefetch>
void MixVectors(const Slice& slice, float scale, float grad_scale) {
  auto* const m = static_cast<float*>(slice.exp_avg);
  auto* const v = static_cast<float*>(slice.exp_avg_sq);
  const auto* const g = static_cast<const float*>(slice.grad);
  const auto a = S::Set(scale), b = S::Set(grad_scale);
  for (size_t i = 0; i + S::kLanes <= slice.count; i += S::kLanes) {
    if constexpr (kPrefetch) {
      Ahead(slice.master + i);
      Ahead(m + i);
      Ahead(v + i);
      Ahead(g + i);
    }
    const auto scaled = S::Mul(S::Load(g + i), b);
    S::Store(slice.master + i, S::Fma(S::Load(slice.master + i), a, scaled));
    S::Store(m + i, S::Fma(S::Load(m + i), a, scaled));
    S::Store(v + i, S::Fma(S::Load(v + i), a, scaled));
  }
}

template <typename S>
void Mix(const Slice& slice, bool prefetch, float scale, float grad_scale) {
  if (prefetch) return MixVectors<S, true>(slice, scale, grad_scale);
  MixVectors<S, false>(slice, scale, grad_scale);
}

}  // namespace
}  // namespace tidemill::cpu_adam
