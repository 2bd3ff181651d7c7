#include "gpu/host_operations.h"

#include <algorithm>

#include "gpu/host_compute.h"
#include "gpu/host_stream.h"
#include "gpu/kernels/attention.h"
#include "gpu/kernels/embedding.h"
#include "gpu/kernels/linear.h"
#include "gpu/kernels/loss.h"
#include "gpu/kernels/row_operations.h"

namespace tidemill::gpu {
namespace {

using Workspace = std::span<std::byte>;

LinearContext Linear(HostCompute& compute, Workspace workspace) {
  return {compute.team(), compute.kernels(), workspace};
}
RowContext Rows(HostCompute& compute) { return {compute.team(), compute.kernels()}; }

double ProductFlops(int64_t rows, int64_t in, int64_t out) {
  return 2.0 * static_cast<double>(rows) * static_cast<double>(in) * static_cast<double>(out);
}

// Operations of one product over the (query, key) pairs that causality and the window leave, all heads.
double AttentionProductFlops(const AttentionShape& shape, const SequenceView& sequences) {
  double pairs = 0;
  for (int32_t s = 0; s < sequences.sequences; ++s) {
    const int64_t queries = sequences.query_offsets[s + 1] - sequences.query_offsets[s];
    const int64_t keys = sequences.key_offsets[s + 1] - sequences.key_offsets[s];
    const int64_t longest = shape.window > 0 ? std::min<int64_t>(keys, shape.window) : keys;
    const int64_t shortest = std::min(keys - queries + 1, longest);  // what the first query sees
    const int64_t growing = longest - shortest;                      // queries that see one key more than the last
    pairs += static_cast<double>(growing) * static_cast<double>(shortest + longest - 1) / 2 +
             static_cast<double>(queries - growing) * static_cast<double>(longest);
  }
  return 2.0 * pairs * shape.heads * shape.head_dim;
}

class HostOperations final : public Operations {
 public:
  explicit HostOperations(HostStream& stream) : stream_(stream) {}

  void LinearForward(const float* x, const Weights& w, const Weights& bias, float* y, int64_t rows,
                     bool accumulate) override {
    Enqueue(ProductFlops(rows, w.cols, w.rows), [=](HostCompute& compute, Workspace workspace) {
      gpu::LinearForward(Linear(compute, workspace), x, w, bias, y, rows, accumulate);
    });
  }

  void LinearBackwardInput(const float* dy, const Weights& w, float* dx, int64_t rows, bool accumulate) override {
    Enqueue(ProductFlops(rows, w.cols, w.rows), [=](HostCompute& compute, Workspace workspace) {
      gpu::LinearBackwardInput(Linear(compute, workspace), dy, w, dx, rows, accumulate);
    });
  }

  void LinearBackwardWeights(const float* x, const float* dy, int64_t in, int64_t out, Fold dw, Fold dbias,
                             int64_t rows) override {
    Enqueue(ProductFlops(rows, in, out), [=](HostCompute& compute, Workspace workspace) {
      gpu::LinearBackwardWeights(Linear(compute, workspace), x, dy, in, out, dw, dbias, rows);
    });
  }

  void RmsNormForward(const float* x, const Weights& w, float epsilon, float* y, float* inverse_rms, int64_t rows,
                      int64_t cols) override {
    Enqueue(0, [=](HostCompute& compute, Workspace) {
      gpu::RmsNormForward(Rows(compute), x, w, epsilon, y, inverse_rms, rows, cols);
    });
  }

  void RmsNormBackward(const float* x, const Weights& w, const float* inverse_rms, const float* dy, float* dx,
                       bool accumulate_dx, Fold dw, int64_t rows, int64_t cols) override {
    Enqueue(0, [=](HostCompute& compute, Workspace) {
      gpu::RmsNormBackward(Rows(compute), x, w, inverse_rms, dy, dx, accumulate_dx, dw, rows, cols);
    });
  }

  void Rope(float* x, const int32_t* positions, const float* cosines, const float* sines, int64_t rows, int32_t heads,
            int32_t head_dim, bool inverse) override {
    Enqueue(0, [=](HostCompute& compute, Workspace) {
      gpu::Rope(Rows(compute), x, positions, cosines, sines, rows, heads, head_dim, inverse);
    });
  }

  void AttentionForward(const AttentionShape& shape, const SequenceView& sequences, const float* q, const float* k,
                        const float* v, float* o, float* lse) override {
    stream_.Enqueue([=](HostCompute& compute, Workspace workspace) {
      compute.Run(2 * AttentionProductFlops(shape, sequences), [&] {
        gpu::AttentionForward(compute.isa(), compute.team(), workspace, shape, sequences, q, k, v, o, lse);
      });
    });
  }

  void AttentionBackward(const AttentionShape& shape, const SequenceView& sequences, const float* q, const float* k,
                         const float* v, const float* o, const float* lse, const float* d_o, float* dq, float* dk,
                         float* dv) override {
    stream_.Enqueue([=](HostCompute& compute, Workspace workspace) {
      compute.Run(5 * AttentionProductFlops(shape, sequences), [&] {
        gpu::AttentionBackward(compute.isa(), compute.team(), workspace, shape, sequences, q, k, v, o, lse, d_o, dq, dk,
                               dv);
      });
    });
  }

  void SwiGluForward(const float* gate, const float* up, float* out, int64_t count) override {
    Enqueue(0, [=](HostCompute& compute, Workspace) { gpu::SwiGluForward(Rows(compute), gate, up, out, count); });
  }

  void SwiGluBackward(const float* gate, const float* up, const float* d_out, float* dgate, float* dup,
                      int64_t count) override {
    Enqueue(0, [=](HostCompute& compute, Workspace) {
      gpu::SwiGluBackward(Rows(compute), gate, up, d_out, dgate, dup, count);
    });
  }

  void Add(const float* x, float* y, int64_t count) override {
    Enqueue(0, [=](HostCompute& compute, Workspace) { gpu::Add(Rows(compute), x, y, count); });
  }

  void EmbedForward(const Weights& table, int32_t first_id, const int32_t* ids, float* x, int64_t rows) override {
    Enqueue(0,
            [=](HostCompute& compute, Workspace) { gpu::EmbedForward(compute.team(), table, first_id, ids, x, rows); });
  }

  void EmbedBackward(const float* dx, const int32_t* ids, int32_t first_id, int64_t table_rows, int64_t cols,
                     Fold dtable, int64_t rows) override {
    Enqueue(0, [=](HostCompute& compute, Workspace) {
      gpu::EmbedBackward(compute.team(), dx, ids, first_id, table_rows, cols, dtable, rows);
    });
  }

  void LossStatistics(const float* logits, int32_t first_id, int64_t slice, const int32_t* targets, float* maximum,
                      float* sum, float* target_logit, int64_t rows, bool first) override {
    Enqueue(0, [=](HostCompute& compute, Workspace) {
      gpu::LossStatistics(compute.isa(), compute.team(), logits, first_id, slice, targets, maximum, sum, target_logit,
                          rows, first);
    });
  }

  void LossFinish(const int32_t* targets, float* maximum, const float* sum, float* target_logit, double* loss_sum,
                  int64_t rows) override {
    Enqueue(0, [=](HostCompute& compute, Workspace) {
      gpu::LossFinish(compute.isa(), targets, maximum, sum, target_logit, loss_sum, rows);
    });
  }

  void LossGradient(float* logits, int32_t first_id, int64_t slice, const int32_t* targets, const float* lse,
                    float scale, int64_t rows) override {
    Enqueue(0, [=](HostCompute& compute, Workspace) {
      gpu::LossGradient(compute.isa(), compute.team(), logits, first_id, slice, targets, lse, scale, rows);
    });
  }

  void FinishGrad(const float* fold, const float* other, std::byte* grad, DType grad_dtype, double* square_sum,
                  int64_t count) override {
    Enqueue(0, [=](HostCompute& compute, Workspace) {
      gpu::FinishGrad(Rows(compute), fold, other, grad, grad_dtype, square_sum, count);
    });
  }

  void Adam(const AdamCoefficients& k, std::byte* param, uint16_t* rest, float* exp_avg, float* exp_avg_sq,
            const std::byte* grad, DType grad_dtype, int64_t count) override {
    Enqueue(0, [=](HostCompute& compute, Workspace) {
      gpu::Adam(Rows(compute), k, param, rest, exp_avg, exp_avg_sq, grad, grad_dtype, count);
    });
  }

 private:
  template <typename Work>
  void Enqueue(double flops, const Work& work) {
    stream_.Enqueue([flops, work](HostCompute& compute, Workspace workspace) {
      compute.Run(flops, [&] { work(compute, workspace); });
    });
  }

  HostStream& stream_;
};

}  // namespace

std::unique_ptr<Operations> MakeHostOperations(HostStream& stream) { return std::make_unique<HostOperations>(stream); }

uint64_t HostWorkspaceBytes(const WorkspaceLimits& limits, size_t threads) {
  const uint64_t linear = LinearWorkspaceBytes(limits.weight_cols, limits.weight_elements);
  if (limits.attention.heads == 0) return linear;
  return std::max(linear, AttentionWorkspaceBytes(limits.attention, limits.rows, limits.sequences, threads));
}

}  // namespace tidemill::gpu
