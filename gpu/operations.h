// The arithmetic that a transformer block needs, as asynchronous operations on one stream.
//
//   Memory      every pointer is device memory, 64-byte aligned at the start of a tensor. Activations, gradients of
//               activations, statistics and gradient folds are fp32; weights are fp32 or bf16 (widened to fp32: all
//               arithmetic is fp32, sums that say so are fp64).
//   Bits        a result depends on the inputs' bits and on the shapes alone: not on addresses, on the number of
//               threads, on the instruction set or on timing. Every reduction has a fixed order.
//   Ownership   operands are borrowed until the stream has passed the operation; argument structs are copied at the
//               call.
//   Errors      a shape that does not fit together is the caller's bug and aborts.
//
// Row r of an activation is token r of the micro-batch (base/token_batch.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/adam_rule.h"
#include "base/dtype.h"

namespace tidemill::gpu {

// A row-major matrix of weights: element (r, c) at data + (r * cols + c) * SizeOf(dtype).
struct Weights {
  const std::byte* data = nullptr;  // null: the tensor does not exist (a bias that the model lacks)
  DType dtype = DType::kF32;
  int64_t rows = 0, cols = 1;  // a vector is rows x 1
};

// A gradient fold: fp32, shaped like its weights. `accumulate` false: the first micro-batch, the old content is
// overwritten.
struct Fold {
  float* data = nullptr;  // null: frozen, not computed
  bool accumulate = false;
};

struct SequenceView {                      // int32 arrays in device memory
  const int32_t* query_offsets = nullptr;  // [sequences + 1], rows of q
  const int32_t* key_offsets = nullptr;    // [sequences + 1], rows of k and v; equal to query_offsets without a cache
  int32_t sequences = 0;
  int32_t longest_query = 0, longest_key = 0;
};

struct AttentionShape {
  // heads % kv_heads == 0; query head h reads kv head h / (heads / kv_heads)
  int32_t heads = 0, kv_heads = 0, head_dim = 0;
  int32_t window = 0;  // keys further back than window - 1 are not seen; 0: all are
  float scale = 1;     // of q . k
};

struct WorkspaceLimits {
  int64_t rows = 0;                          // of a micro-batch
  int64_t weight_rows = 0, weight_cols = 0;  // upper bounds over all weight matrices and vocabulary slices
  int64_t weight_elements = 0;               // the largest rows * cols
  DType weight_dtype = DType::kF32;
  AttentionShape attention;
  int32_t sequences = 0;  // in a micro-batch
};

class Operations {
 public:
  virtual ~Operations() = default;

  // Linear layers; W is [out, in] as in torch.nn.Linear.
  // y[rows, out] = x[rows, in] W^T (+ bias[out])      y is overwritten, or added to if `accumulate`.
  virtual void LinearForward(const float* x, const Weights& w, const Weights& bias, float* y, int64_t rows,
                             bool accumulate) = 0;
  // dx[rows, in] = dy[rows, out] W, overwritten, or added to if `accumulate`.
  virtual void LinearBackwardInput(const float* dy, const Weights& w, float* dx, int64_t rows, bool accumulate) = 0;
  // dW[out, in] (+)= dy^T x; dbias[out] (+)= column sums of dy. Sums over rows in a fixed order.
  virtual void LinearBackwardWeights(const float* x, const float* dy, int64_t in, int64_t out, Fold dw, Fold dbias,
                                     int64_t rows) = 0;

  // y = x * inverse_rms * w, inverse_rms[r] = 1 / sqrt(mean(x[r]^2) + epsilon); also over heads: rows = tokens * heads.
  // Zhang & Sennrich, "Root Mean Square Layer Normalization" (2019). In place (y == x) is allowed.
  virtual void RmsNormForward(const float* x, const Weights& w, float epsilon, float* y, float* inverse_rms,
                              int64_t rows, int64_t cols) = 0;
  // dx (overwritten, or added to) and dw (+)=; in place dx == dy allowed when not accumulating.
  virtual void RmsNormBackward(const float* x, const Weights& w, const float* inverse_rms, const float* dy, float* dx,
                               bool accumulate_dx, Fold dw, int64_t rows, int64_t cols) = 0;

  // Rotary embedding in the half-split convention of Hugging Face, in place on x[rows, heads * head_dim]:
  // (a, b) = (x[i], x[i + head_dim / 2]) -> (a c - b s, b c + a s); `inverse` rotates back (the backward pass).
  // cosines, sines: [positions, head_dim / 2], row positions[r] belongs to row r.
  virtual void Rope(float* x, const int32_t* positions, const float* cosines, const float* sines, int64_t rows,
                    int32_t heads, int32_t head_dim, bool inverse) = 0;

  // Causal softmax attention within each sequence, blockwise (never rows x rows): Dao et al., "FlashAttention" (2022).
  // q, o: [query rows, heads * head_dim]; k, v: [key rows, kv_heads * head_dim]; lse: [query rows, heads] (natural
  // log). The last query of a sequence sees its last key: query i of n sees keys 0 .. i + (keys - n), less what the
  // window hides.
  virtual void AttentionForward(const AttentionShape& shape, const SequenceView& sequences, const float* q,
                                const float* k, const float* v, float* o, float* lse) = 0;
  // dq, dk, dv are overwritten. Same rows of queries and keys.
  virtual void AttentionBackward(const AttentionShape& shape, const SequenceView& sequences, const float* q,
                                 const float* k, const float* v, const float* o, const float* lse, const float* d_o,
                                 float* dq, float* dk, float* dv) = 0;

  // out = silu(gate) * up, elementwise over count. out may be gate or up.
  virtual void SwiGluForward(const float* gate, const float* up, float* out, int64_t count) = 0;
  // From d_out: dgate, dup; each may be in place of gate, up or d_out.
  virtual void SwiGluBackward(const float* gate, const float* up, const float* d_out, float* dgate, float* dup,
                              int64_t count) = 0;

  // y += x
  virtual void Add(const float* x, float* y, int64_t count) = 0;

  // Embedding, one slice of the vocabulary at a time: table holds the rows first_id .. first_id + table.rows - 1.
  // Writes x[r] for the rows whose id lies in the slice and leaves the others alone.
  virtual void EmbedForward(const Weights& table, int32_t first_id, const int32_t* ids, float* x, int64_t rows) = 0;
  // dtable[id] (+)= sum over the rows with that id of dx[r], rows in order; without accumulate untouched ids become
  // zero.
  virtual void EmbedBackward(const float* dx, const int32_t* ids, int32_t first_id, int64_t table_rows, int64_t cols,
                             Fold dtable, int64_t rows) = 0;

  // Cross-entropy over slices of the vocabulary, logits[rows, slice] of the ids first_id ... Two passes:
  // 1. running statistics: maximum[r], sum[r] = sum exp(l - maximum), target_logit[r]; `first` starts them.
  virtual void LossStatistics(const float* logits, int32_t first_id, int64_t slice, const int32_t* targets,
                              float* maximum, float* sum, float* target_logit, int64_t rows, bool first) = 0;
  //    then, once: maximum[r] becomes lse[r] = maximum + log(sum), and *loss_sum (fp64, overwritten) the sum over the
  //    rows whose target counts of lse - target_logit, rows in order. target_logit[r] becomes the row's loss (0 where
  //    it does not count).
  virtual void LossFinish(const int32_t* targets, float* maximum, const float* sum, float* target_logit,
                          double* loss_sum, int64_t rows) = 0;
  // 2. logits become d loss / d logits * scale = (exp(l - lse) - [id == target]) * scale; zero where the target does
  // not count.
  virtual void LossGradient(float* logits, int32_t first_id, int64_t slice, const int32_t* targets, const float* lse,
                            float scale, int64_t rows) = 0;

  // grad[count] = round(fold + other) to grad_dtype (bf16: nearest even; fp32: exact); other may be null; grad may be
  // fold. *square_sum (fp64, overwritten) = sum of the rounded values' squares: chunks of 4096 elements, each over 16
  // lanes in fp64 with a fixed tree, chunks in order. NaN and infinity show in it.
  virtual void FinishGrad(const float* fold, const float* other, std::byte* grad, DType grad_dtype, double* square_sum,
                          int64_t count) = 0;

  // base/adam_rule.h over a flat run of one tensor. Either master (rest == null: param is fp32) or split (param bf16 +
  // rest).
  virtual void Adam(const AdamCoefficients& k, std::byte* param, uint16_t* rest, float* exp_avg, float* exp_avg_sq,
                    const std::byte* grad, DType grad_dtype, int64_t count) = 0;
};

}  // namespace tidemill::gpu
