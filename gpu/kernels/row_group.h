// The threads that work on one row together. A row-wise kernel is a template over such a group, written once:
//
//   for (int64_t i = 0; i < count; i += group.size()) sum += group.Load(row, i, count);  // each: element i + rank
//   const float total = group.Sum(sum);                                                  // of all, known to all
//
// HostGroup is sixteen lanes of one thread: F is a vector, Load() reads sixteen neighbours. A group of GPU threads has
// F = float, reads element i + rank() and sums over the block. On the host Sum() is one tree whatever the registers, so
// a row's sum has the same bits on every instruction set.
#pragma once

#include "gpu/kernels/lanes.h"

namespace tidemill::gpu::TM_ISA {

struct HostGroup {
  using F = F16;  // one float per thread
  using I = I16;
  using D = D16;

  TM_INLINE static constexpr int64_t size() { return kLanes; }
  TM_INLINE static I rank() { return LaneNumbers(); }

  // Element i + rank() of a row of float or bf16; zero at and beyond `count`.
  template <typename T>
  TM_INLINE static F Load(const T* row, int64_t i, int64_t count) {
    return i + kLanes <= count ? LoadLanes(row + i) : LoadLanes(row + i, count - i);
  }
  template <typename T>
  TM_INLINE static void Store(T* row, int64_t i, int64_t count, F value) {
    if (i + kLanes <= count) {
      StoreLanes(row + i, value);
    } else {
      StoreLanes(row + i, value, count - i);
    }
  }

  // The same for sixteen-bit patterns: bf16 halves and the split master.
  TM_INLINE static I LoadHalf(const uint16_t* row, int64_t i, int64_t count) {
    return i + kLanes <= count ? LoadHalves(row + i) : LoadHalves(row + i, count - i);
  }
  TM_INLINE static void StoreHalf(uint16_t* row, int64_t i, int64_t count, I value) {
    if (i + kLanes <= count) {
      StoreHalves(row + i, value);
    } else {
      StoreHalves(row + i, value, count - i);
    }
  }

  TM_INLINE static float Sum(F value) { return SumLanes(value); }
  TM_INLINE static double Sum(D value) { return SumLanes(value); }
  TM_INLINE static float Max(F value) { return MaxLanes(value); }
};

}  // namespace tidemill::gpu::TM_ISA
