// The end of a gradient's fold, and AdamW over a flat run of elements: base/adam_rule.h on the group's lanes, so the
// bits are cpu_adam's. G is the gradient's storage: float, or uint16_t for bf16.
#pragma once

#include "base/adam_rule.h"
#include "gpu/kernels/row_group.h"

namespace tidemill::gpu::TM_ISA {

// AdamRule's words for a group's F.
template <typename F>
struct AdamWords {
  using V = F;
  TM_INLINE static V Set(float value) { return V{} + value; }
  TM_INLINE static V Mul(V a, V b) { return a * b; }
  TM_INLINE static V Div(V a, V b) { return a / b; }
  TM_INLINE static V Fma(V a, V b, V c) { return TM_ISA::Fma(a, b, c); }
  TM_INLINE static V Sqrt(V a) { return TM_ISA::Sqrt(a); }
};

template <typename Group, typename G>
void AdamMaster(Group group, const AdamCoefficients& k, float* param, float* exp_avg, float* exp_avg_sq, const G* grad,
                int64_t count) {
  for (int64_t i = 0; i < count; i += group.size()) {
    auto master = group.Load(param, i, count);
    auto m = group.Load(exp_avg, i, count);
    auto v = group.Load(exp_avg_sq, i, count);
    AdamRule<AdamWords<typename Group::F>>(k, master, m, v, group.Load(grad, i, count));
    group.Store(param, i, count, master);
    group.Store(exp_avg, i, count, m);
    group.Store(exp_avg_sq, i, count, v);
  }
}

// The master is kept as its bf16 half and the rest (base/dtype.h, SplitMaster).
template <typename Group, typename G>
void AdamSplit(Group group, const AdamCoefficients& k, uint16_t* param, uint16_t* rest, float* exp_avg,
               float* exp_avg_sq, const G* grad, int64_t count) {
  for (int64_t i = 0; i < count; i += group.size()) {
    const auto low = group.LoadHalf(rest, i, count);
    auto master = FromBits(((group.LoadHalf(param, i, count) - (low >> 15)) << 16) | low);
    auto m = group.Load(exp_avg, i, count);
    auto v = group.Load(exp_avg_sq, i, count);
    AdamRule<AdamWords<typename Group::F>>(k, master, m, v, group.Load(grad, i, count));
    const auto bits = Bits(master);
    group.StoreHalf(param, i, count, ((bits >> 16) & 0xffff) + ((bits >> 15) & 1));
    group.StoreHalf(rest, i, count, bits & 0xffff);
    group.Store(exp_avg, i, count, m);
    group.Store(exp_avg_sq, i, count, v);
  }
}

// grad = round(fold + other) to G; returns the sum of the rounded values' squares in fp64, lane by lane, then the tree.
// other may be null; grad may be fold.
template <typename Group, typename G>
double FinishGrad(Group group, const float* fold, const float* other, G* grad, int64_t count) {
  typename Group::D squares{};
  for (int64_t i = 0; i < count; i += group.size()) {
    auto value = group.Load(fold, i, count);
    if (other != nullptr) value = value + group.Load(other, i, count);
    if constexpr (sizeof(G) == sizeof(uint16_t)) {
      const auto half = RoundToBf16Even(Bits(value));
      group.StoreHalf(grad, i, count, half);
      value = FromBits(half << 16);
    } else {
      group.Store(grad, i, count, value);
    }
    const auto exact = ToDouble(value);
    squares += exact * exact;
  }
  return group.Sum(squares);
}

}  // namespace tidemill::gpu::TM_ISA
