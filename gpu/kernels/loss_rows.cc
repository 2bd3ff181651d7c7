#include "gpu/kernels/loss_rows.h"

#include "gpu/kernels/loss.h"
#include "gpu/kernels/vector_math.h"

namespace tidemill::gpu::TM_ISA {
namespace {

constexpr float kMinusInfinity = -__builtin_inff();

float RowMaximum(const float* logits, int64_t count) {
  F16 top = Set<F16>(kMinusInfinity);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) top = Max(LoadLanes(logits + i), top);
  float result = MaxLanes(top);
  for (; i < count; ++i) result = Max(logits[i], result);
  return result;
}

float RowSum(const float* logits, int64_t count, float maximum) {
  D16 total{};
  for (int64_t begin = 0; begin < count; begin += kLossChunk) {
    const int64_t end = begin + kLossChunk < count ? begin + kLossChunk : count;
    F16 chunk{};
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) chunk += Exp(LoadLanes(logits + i) - maximum);
    for (; i < end; ++i) chunk[i % kLanes] += Exp(logits[i] - maximum);
    total += ToDouble(chunk);
  }
  return static_cast<float>(SumLanes(total));
}

float RowExp(float x) { return Exp(x); }
float RowLog(float x) { return Log(x); }

void RowGradient(float* logits, int64_t count, int64_t target, float lse, float scale) {
  const float at_target = target < 0 ? 0 : (Exp(logits[target] - lse) - 1.0F) * scale;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) StoreLanes(logits + i, Exp(LoadLanes(logits + i) - lse) * scale);
  for (; i < count; ++i) logits[i] = Exp(logits[i] - lse) * scale;
  if (target >= 0) logits[target] = at_target;
}

}  // namespace

extern const LossRowKernels kLossRowKernels;
const LossRowKernels kLossRowKernels = {RowMaximum, RowSum, RowExp, RowLog, RowGradient};

}  // namespace tidemill::gpu::TM_ISA
