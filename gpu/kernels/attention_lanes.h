// What both passes of attention share: turning rows into lanes, and which key a query sees. Include only from files
// under PER_ISA (gpu/kernels/isa.h).
#pragma once

#include "gpu/kernels/attention_block.h"
#include "gpu/kernels/lanes.h"

namespace tidemill::gpu::TM_ISA {

// to[d * width + i] = from[i * stride + d], zero for the columns from `queries` to `width`.
inline void Turn(const float* from, int64_t stride, int64_t queries, int64_t head_dim, int64_t width, float* to) {
  for (int64_t i = 0; i < queries; ++i)
    for (int64_t d = 0; d < head_dim; ++d) to[d * width + i] = from[i * stride + d];
  for (int64_t i = queries; i < width; ++i)
    for (int64_t d = 0; d < head_dim; ++d) to[d * width + i] = 0;
}

struct KeyRange {
  int64_t begin, end;
};
inline KeyRange KeysOf(const AttentionBlock& block, int64_t key_block) {
  const int64_t begin = key_block * kKeyBlock, end = begin + kKeyBlock;
  return {begin < block.first_visible() ? block.first_visible() : begin,
          end > block.end_visible() ? block.end_visible() : end};
}

// Which of the queries see a key, as lane masks: query i sees key j if low(j) <= i <= high(j).
struct Mask {
  const AttentionBlock& block;

  static int32_t Clamp(int64_t x) { return static_cast<int32_t>(x < -64 ? -64 : x > 64 ? 64 : x); }
  bool Needed(KeyRange keys) const {
    return keys.end - 1 > block.last_key ||
           (block.window > 0 && keys.begin - block.last_key - 1 + block.window < block.queries - 1);
  }
  I16 Visible(int64_t key, int column) const {
    const I16 query = LaneNumbers() + static_cast<int32_t>(kLanes) * column;
    const int32_t low = Clamp(key - block.last_key);
    const int32_t high = block.window > 0 ? Clamp(key - block.last_key - 1 + block.window) : 64;
    return ~((query - low) >> 31) & ~((high - query) >> 31);  // the sign, spread: low <= query <= high
  }
};

}  // namespace tidemill::gpu::TM_ISA
