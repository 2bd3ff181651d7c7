// Internal: sums of squares per chunk, written once; grad_norm.h gives the order. Besides kernel_body.h's members, S
// has D (kDoubles doubles), ZeroD, Widen (a V into kLanes / kDoubles Ds, in order), AddSquare(acc, x) = acc + x * x,
// StoreD.
#pragma once

#include "cpu_adam/kernel.h"
#include "cpu_adam/streams.h"

namespace tidemill::cpu_adam {
namespace {

template <typename S>
struct SumLanes {
  static constexpr size_t kParts = kSumLanes / S::kDoubles;
  static constexpr size_t kPartsPerVector = S::kLanes / S::kDoubles;
  typename S::D part[kParts];

  SumLanes() {
    for (auto& each : part) each = S::ZeroD();
  }

  // 16 elements from `i` on.
  template <typename Grad>
  void Add(const Grad& grad, size_t i) {
    for (size_t lane = 0, at = 0; lane < kSumLanes; lane += S::kLanes, at += kPartsPerVector) {
      typename S::D wide[kPartsPerVector];
      S::Widen(grad.Load(i + lane), wide);
      for (size_t p = 0; p < kPartsPerVector; ++p) part[at + p] = S::AddSquare(part[at + p], wide[p]);
    }
  }

  double Total() const {
    double lane[kSumLanes];
    for (size_t p = 0; p < kParts; ++p) S::StoreD(lane + p * S::kDoubles, part[p]);
    for (size_t half = kSumLanes / 2; half > 0; half /= 2) {
      for (size_t l = 0; l < half; ++l) lane[l] += lane[l + half];
    }
    return lane[0];
  }
};

template <typename S, typename Grad>
double SumChunk(const typename Grad::Element* data, size_t count) {
  SumLanes<S> lanes;
  const Grad grad(data);
  const size_t whole = count / kSumLanes * kSumLanes;
  for (size_t i = 0; i < whole; i += kSumLanes) lanes.Add(grad, i);
  if (whole < count) {
    typename Grad::Element end[kSumLanes] = {};  // zeros add nothing
    for (size_t i = whole; i < count; ++i) end[i - whole] = data[i];
    lanes.Add(Grad(end), 0);
  }
  return lanes.Total();
}

template <typename S, typename Grad>
void SumAll(const void* grad, size_t count, double* sums) {
  const auto* const data = static_cast<const typename Grad::Element*>(grad);
  for (size_t begin = 0; begin < count; begin += kSumChunk) {
    *sums++ = SumChunk<S, Grad>(data + begin, count - begin < kSumChunk ? count - begin : kSumChunk);
  }
}

template <typename S>
void SumChunks(GradForm form, const void* grad, size_t count, double* sums) {
  if (form == GradForm::kFp32) return SumAll<S, Fp32GradStream<S>>(grad, count, sums);
  return SumAll<S, Bf16GradStream<S>>(grad, count, sums);
}

}  // namespace
}  // namespace tidemill::cpu_adam
