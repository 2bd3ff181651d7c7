// Internal: moments between fp32 and an encoding, with the same formulas as the fused pass (kernel_scalar.cc has both).
#pragma once

#include "cpu_adam/kernel.h"

namespace tidemill::cpu_adam {

void EncodeScalar(const float* exp_avg, const float* exp_avg_sq, const Slice& to);
void DecodeScalar(const Slice& from, float* exp_avg, float* exp_avg_sq);

}  // namespace tidemill::cpu_adam
