// One block of queries of one head against the keys that it sees: the part of attention that is compiled once per
// instruction set. gpu/kernels/attention.cc hands out the blocks.
#pragma once

#include <cstdint>

namespace tidemill::gpu {

inline constexpr int64_t kQueryBlock = 32, kKeyBlock = 64;

// Rows are strided: row r of q is at q + r * q_stride. Query i sees the keys last_key + i - window + 1 (0 without a
// window) .. last_key + i.
struct AttentionBlock {
  const float *q, *k, *v;
  int64_t q_stride, kv_stride;
  int64_t queries;   // 1 .. kQueryBlock
  int64_t last_key;  // the last key that query 0 sees
  int64_t window;    // 0: none
  int64_t head_dim;
  float scale;

  int64_t first_visible() const { return window > 0 && last_key >= window ? last_key - window + 1 : 0; }
  int64_t end_visible() const { return last_key + queries; }
  int64_t first_key_block() const { return first_visible() / kKeyBlock; }
  int64_t last_key_block() const { return (end_visible() - 1) / kKeyBlock; }
};

// The output and its gradient for the same rows; the stride of all three is q_stride.
struct AttentionGradients {
  const float *o, *d_o, *lse;
  float* dq;
  float *dk, *dv;      // added to, from key 0 of the sequence, stride kv_stride
  int64_t lse_stride;  // from one query to the next
};

// What one member of a team needs: floats for one block in either pass.
inline int64_t AttentionScratchFloats(int64_t head_dim) {
  const int64_t padded = (head_dim + 15) / 16 * 16;
  return kQueryBlock * (3 * head_dim + 2 * padded + 2 * kKeyBlock + 2);
}

struct AttentionForwardKernels {
  void (*forward)(const AttentionBlock&, float* o, float* lse, int64_t lse_stride, float* scratch);
};

// The backward pass of one block: begin, then for every key block from the first to the last scores and add_to_keys,
// then end. Only add_to_keys writes what other blocks write too (rows of dk and dv).
struct AttentionBackwardKernels {
  void (*begin)(const AttentionBlock&, const AttentionGradients&, float* scratch);
  void (*scores)(const AttentionBlock&, int64_t key_block, float* scratch);
  void (*add_to_keys)(const AttentionBlock&, const AttentionGradients&, int64_t key_block, float* scratch);
  void (*end)(const AttentionBlock&, const AttentionGradients&, float* scratch);
};

}  // namespace tidemill::gpu
