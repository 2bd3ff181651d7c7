// Where a layer's inner activations lie: the parts of `kept` and of scratch, each 64-byte aligned.
#pragma once

#include <cstdint>

#include "model/config.h"

namespace tidemill::model {

// Floats, rounded up so that what follows is 64-byte aligned.
constexpr int64_t AlignFloats(int64_t floats) { return (floats + 15) / 16 * 16; }

// Hands out aligned runs of floats from a start that may be null, to measure only.
class FloatRuns {
 public:
  explicit FloatRuns(float* start) : start_(start) {}
  float* Take(int64_t floats) {
    float* const run = start_ == nullptr ? nullptr : start_ + used_;
    used_ += AlignFloats(floats);
    return run;
  }
  int64_t used() const { return used_; }

 private:
  float* start_;
  int64_t used_ = 0;
};

// What the backward pass reads of the forward pass. Outputs of RMSNorm and of SwiGLU are made again instead: they cost
// a pass over their inputs, and would be a quarter of what is kept.
struct KeptView {
  KeptView(const ModelConfig& config, int64_t rows, float* start);

  float* inverse_rms1;  // [rows]
  float *q, *k, *v;     // after norm and RoPE; [rows, q_columns], [rows, kv_columns] twice
  float* o;             // attention's output, [rows, q_columns]
  float* lse;           // [rows, heads]
  float* mid;           // [rows, hidden]
  float* inverse_rms2;  // [rows]
  float *gate, *up;     // [rows, intermediate]
  // With q and k norms: their inputs and inverse RMS, [rows, heads] and [rows, kv_heads]; else null.
  float *raw_q = nullptr, *raw_k = nullptr, *inverse_q = nullptr, *inverse_k = nullptr;
  int64_t floats = 0;
};

// Scratch of both passes. dq, dk, dv lie over wide1 and wide2: the MLP is done with when attention's turn comes.
struct ScratchView {
  ScratchView(const ModelConfig& config, int64_t rows, float* start);

  float *normed, *d_normed;  // [rows, hidden]
  float* inverse_rms;        // [rows], written and not read
  float *wide1, *wide2;      // [rows, intermediate]
  float *d_o, *dq, *dk, *dv;
  int64_t floats = 0;
};

}  // namespace tidemill::model
