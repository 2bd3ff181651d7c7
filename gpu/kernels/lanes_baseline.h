// What lanes.h cannot say with operators, for any processor.
#pragma once

namespace tidemill::gpu::TM_ISA {

inline constexpr int kRegisterFloats = 8;

TM_INLINE F16 Fma(F16 a, F16 b, F16 c) {
  F16 sum{};
  for (int i = 0; i < 16; ++i) sum[i] = std::fma(a[i], b[i], c[i]);
  return sum;
}

TM_INLINE F16 Sqrt(F16 a) {
  F16 root{};
  for (int i = 0; i < 16; ++i) root[i] = std::sqrt(a[i]);
  return root;
}

TM_INLINE F16 Max(F16 a, F16 b) {
  for (int i = 0; i < 16; ++i) a[i] = a[i] > b[i] ? a[i] : b[i];
  return a;
}

TM_INLINE F16 Min(F16 a, F16 b) {
  for (int i = 0; i < 16; ++i) a[i] = a[i] < b[i] ? a[i] : b[i];
  return a;
}

TM_INLINE I16 Less(F16 a, F16 b) {
  I16 mask{};
  for (int i = 0; i < 16; ++i) mask[i] = a[i] < b[i] ? -1 : 0;
  return mask;
}

}  // namespace tidemill::gpu::TM_ISA
