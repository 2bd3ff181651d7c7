// Runs step programs: the loop over operations, and what each kind of operation is.
//
//   for (op : program) { views = engine.Begin(op); run it by kind: model, optimizer pass; engine.End(op); }
//
//   Ownership   borrows everything it is made from.
//   Threads     one: the compute lane's. Operations of the adam lane run on that lane's thread
//               (offload/optimizer_pass.h).
//   Syncs       the host waits for the device once a step, at the norm (in evaluation: at the end).
//   Errors      those of the engine; kNotFinite is the caller's to decide from the outcome.
//   Limits      a step allocates nothing.
#pragma once

#include <span>
#include <vector>

#include "base/token_batch.h"
#include "gpu/communicator.h"
#include "gpu/device.h"
#include "model/config.h"
#include "model/head.h"
#include "offload/engine.h"
#include "offload/optimizer_pass.h"
#include "train/device_buffers.h"
#include "train/layer_binding.h"
#include "train/memory_plan.h"

namespace tidemill::train {

struct InterpreterParts {
  const model::ModelConfig& config;
  const swap_scheduler::PageLayout& layout;
  DType param_dtype, grad_dtype;
  uint64_t cache_rows;  // capacity of a key-value cache; 0: none
  const DeviceBuffers& buffers;
  gpu::Stream& compute;
  gpu::Communicator& communicator;
  offload::Engine& engine;
  offload::OptimizerPass& optimizer_pass;
};

// What one training step is told; `step.grad_scale` is decided here, from the norm.
struct UpdateRequest {
  offload::OptimizerStep step;
  double max_grad_norm = 0;       // 0: no clipping
  int64_t supervised_tokens = 0;  // of the window, over all ranks; at least 1
};

struct StepOutcome {
  double loss_sum = 0;   // over the supervised tokens of the window
  double grad_norm = 0;  // before clipping
  bool applied = false;  // false: something was not finite, and nothing was changed
  offload::StepReport report;
};

// A program with what carrying it out needs.
struct RunnableProgram {
  const PlannedProgram* planned = nullptr;
  const offload::Schedule* schedule = nullptr;
};

class Interpreter {
 public:
  explicit Interpreter(const InterpreterParts& parts);

  // One window, forward, backward and update. As many batches as the program has micro-batches.
  Result<StepOutcome> Train(const RunnableProgram& program, std::span<const TokenBatch> batches,
                            const UpdateRequest& request);
  // Loss alone.
  Result<StepOutcome> Evaluate(const RunnableProgram& program, std::span<const TokenBatch> batches);
  // Logits of the last row of one sequence whose first `cached` tokens are in the cache; [vocabulary], valid until the
  // next call.
  Result<std::span<const float>> Generate(const RunnableProgram& program, const TokenBatch& batch);

 private:
  enum class Job : uint8_t { kTrain, kEvaluate, kGenerate };
  using Views = std::span<std::byte* const>;
  using Operation = swap_scheduler::Operation;

  // Where the parts of a head state page are.
  struct HeadState {
    float *xn, *inverse_rms;
    model::HeadStatistics statistics;
  };

  void Upload(std::span<const TokenBatch> batches);
  Result<StepOutcome> Run(const RunnableProgram& program);
  Result<StepOutcome> RunOperations(const RunnableProgram& program);
  Status RunOperation(const Operation& op, Views views, StepOutcome& outcome);
  void EmbedForward(const Operation& op, Views views);
  void BlockForward(const Operation& op, Views views);
  void HeadForward(const Operation& op, Views views);
  void GenerateLogits(const Operation& op, Views views);
  void HeadBackward(const Operation& op, Views views);
  void BlockBackward(const Operation& op, Views views);
  void EmbedBackward(const Operation& op, Views views);
  void FinishGrad(const Operation& op, Views views);
  Status Norm(StepOutcome& outcome);
  Status FetchSums(StepOutcome& outcome);
  void Adam(const Operation& op, Views views);

  gpu::Weights VectorWeights(const std::byte* data) const;
  model::VocabularySlice Slice(uint32_t page, const std::byte* data, bool first) const;
  HeadState HeadStateAt(std::byte* page, uint32_t micro_batch) const;

  const InterpreterParts parts_;
  gpu::Operations& ops_;
  const LayerBinding binding_;
  std::vector<uint64_t> first_square_sum_;  // of each layout page: index of its first segment's
  std::vector<model::BatchView> batches_;   // of the step
  std::vector<double> sums_;                // square sums, then loss sums
  std::vector<float> logits_;
  Job job_ = Job::kTrain;
  const swap_scheduler::StepShape* shape_ = nullptr;
  const swap_scheduler::ProgramPages* pages_ = nullptr;
  bool apply_ = false;  // the update of this step
  UpdateRequest request_;
  AdamCoefficients decayed_{}, plain_{};
};

}  // namespace tidemill::train
