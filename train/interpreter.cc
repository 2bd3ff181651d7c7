#include "train/interpreter.h"

#include <cmath>

#include "base/byte_size.h"
#include "base/check.h"
#include "model/layer.h"

namespace tidemill::train {
namespace {

using swap_scheduler::Lane;
using swap_scheduler::OperationKind;
using swap_scheduler::ParamPage;

// As in PyTorch's clip_grad_norm_.
constexpr double kClipEpsilon = 1e-6;

float* Floats(std::byte* view) { return reinterpret_cast<float*>(view); }

template <typename T>
void CopyVector(gpu::Stream& stream, T* device, const std::vector<T>& host) {
  stream.CopyToDevice(reinterpret_cast<std::byte*>(device), std::as_bytes(std::span(host)));
}

}  // namespace

Interpreter::Interpreter(const InterpreterParts& parts)
    : parts_(parts),
      ops_(parts.compute.operations()),
      binding_(parts.config, parts.layout, parts.param_dtype),
      batches_(parts.buffers.shape().micro_batches),
      sums_(parts.buffers.shape().square_sums + parts.buffers.shape().micro_batches),
      logits_(parts.buffers.shape().logits) {
  uint64_t next = 0;
  for (const ParamPage& page : parts.layout.pages) {
    first_square_sum_.push_back(next);
    if (page.trainable) next += page.segments.size();
  }
}

Result<StepOutcome> Interpreter::Train(const RunnableProgram& program, std::span<const TokenBatch> batches,
                                       const UpdateRequest& request) {
  job_ = Job::kTrain;
  request_ = request;
  Upload(batches);
  return Run(program);
}

Result<StepOutcome> Interpreter::Evaluate(const RunnableProgram& program, std::span<const TokenBatch> batches) {
  job_ = Job::kEvaluate;
  Upload(batches);
  TM_ASSIGN_OR_RETURN(StepOutcome outcome, Run(program));
  TM_RETURN_IF_ERROR(FetchSums(outcome));
  return outcome;
}

Result<std::span<const float>> Interpreter::Generate(const RunnableProgram& program, const TokenBatch& batch) {
  job_ = Job::kGenerate;
  Upload({&batch, 1});
  TM_RETURN_IF_ERROR(Run(program));
  parts_.compute.CopyToHost(std::as_writable_bytes(std::span(logits_)),
                            reinterpret_cast<const std::byte*>(parts_.buffers.logits()));
  TM_RETURN_IF_ERROR(parts_.compute.Synchronize());
  return std::span<const float>(logits_);
}

void Interpreter::Upload(std::span<const TokenBatch> batches) {
  TM_CHECK(batches.size() <= batches_.size());
  for (size_t i = 0; i < batches.size(); ++i) {
    const TokenBatch& batch = batches[i];
    TM_CHECK(static_cast<uint64_t>(batch.rows()) <= parts_.buffers.shape().rows);
    const MicroBatchBuffers buffers = parts_.buffers.micro_batch(i);
    CopyVector(parts_.compute, buffers.ids, batch.ids);
    CopyVector(parts_.compute, buffers.positions, batch.positions);
    CopyVector(parts_.compute, buffers.targets, batch.targets);
    CopyVector(parts_.compute, buffers.query_offsets, batch.offsets);
    CopyVector(parts_.compute, buffers.key_offsets, batch.key_offsets);
    batches_[i] = {batch.rows(),
                   buffers.ids,
                   buffers.positions,
                   buffers.targets,
                   {buffers.query_offsets, buffers.key_offsets, static_cast<int32_t>(batch.offsets.size() - 1),
                    batch.longest_sequence, batch.longest_sequence + batch.cached},
                   parts_.buffers.cosines(),
                   parts_.buffers.sines()};
  }
}

Result<StepOutcome> Interpreter::Run(const RunnableProgram& program) {
  auto outcome = RunOperations(program);
  // The batches are the caller's again, and a step that failed may still be reading them.
  if (!outcome.has_value()) (void)parts_.compute.Synchronize();
  return outcome;
}

Result<StepOutcome> Interpreter::RunOperations(const RunnableProgram& program) {
  StepOutcome outcome;
  const auto& operations = program.planned->built.program.operations;
  shape_ = &program.planned->shape;
  pages_ = &program.planned->built.pages;
  parts_.engine.StartStep(*program.schedule);
  for (size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].lane != Lane::kCompute) continue;  // the adam lane takes its own
    TM_ASSIGN_OR_RETURN(const offload::Lease lease, parts_.engine.Begin(i));
    TM_RETURN_IF_ERROR(RunOperation(operations[i], lease.views, outcome));
    parts_.engine.End(i);
  }
  TM_ASSIGN_OR_RETURN(outcome.report, parts_.engine.FinishStep());
  return outcome;
}

Status Interpreter::RunOperation(const Operation& op, Views views, StepOutcome& outcome) {
  switch (op.kind) {
    case OperationKind::kEmbedForward:
      EmbedForward(op, views);
      return Ok();
    case OperationKind::kBlockForward:
      BlockForward(op, views);
      return Ok();
    case OperationKind::kHeadForward:
      job_ == Job::kGenerate ? GenerateLogits(op, views) : HeadForward(op, views);
      return Ok();
    case OperationKind::kHeadBackward:
      HeadBackward(op, views);
      return Ok();
    case OperationKind::kBlockBackward:
      BlockBackward(op, views);
      return Ok();
    case OperationKind::kEmbedBackward:
      EmbedBackward(op, views);
      return Ok();
    case OperationKind::kFinishGrad:
      FinishGrad(op, views);
      return Ok();
    case OperationKind::kNorm:
      return Norm(outcome);
    case OperationKind::kAdam:
      Adam(op, views);
      return Ok();
  }
  TM_CHECK(false);
}

gpu::Weights Interpreter::VectorWeights(const std::byte* data) const {
  return {data, parts_.param_dtype, parts_.config.hidden, 1};
}

model::VocabularySlice Interpreter::Slice(uint32_t page, const std::byte* data, bool first) const {
  const ParamPage& slice = parts_.layout.pages[page];
  return {{data, parts_.param_dtype, static_cast<int64_t>(slice.rows), parts_.config.hidden},
          static_cast<int32_t>(slice.first_row),
          first};
}

Interpreter::HeadState Interpreter::HeadStateAt(std::byte* page, uint32_t micro_batch) const {
  const auto rows = AlignUp(static_cast<uint64_t>(batches_[micro_batch].rows), 16);
  float* const per_row = Floats(page) + rows * static_cast<uint64_t>(parts_.config.hidden);
  return {Floats(page), per_row, {per_row + rows, per_row + 2 * rows, per_row + 3 * rows}};
}

void Interpreter::EmbedForward(const Operation& op, Views views) {
  model::EmbedSliceForward(ops_, Slice(parts_.layout.embedding[op.block], views[0], op.first), batches_[op.micro_batch],
                           Floats(views[1]));
}

void Interpreter::BlockForward(const Operation& op, Views views) {
  const size_t params = parts_.layout.layers[op.block].size();
  const model::LayerWeights weights = binding_.Weights(op.block, views.first(params));
  const model::BatchView& batch = batches_[op.micro_batch];
  const float* const x = Floats(views[params]);
  float* const y = Floats(views[params + 1]);
  float* const scratch = parts_.buffers.scratch();
  if (job_ == Job::kGenerate) {
    float* const keys = Floats(views[params + 2]);
    float* const values = keys + AlignUp(parts_.cache_rows * static_cast<uint64_t>(parts_.config.kv_columns()), 16);
    model::LayerForwardCached(ops_, parts_.config, op.block, weights, batch, x, y, keys, values,
                              batch.sequences.longest_key - batch.sequences.longest_query, scratch);
    return;
  }
  const bool keep = job_ == Job::kTrain && !shape_->recompute;
  float* const kept = keep ? Floats(views[params + 2]) : scratch;
  float* const rest = keep ? scratch : scratch + model::KeptFloats(parts_.config, batch.rows);
  model::LayerForward(ops_, parts_.config, op.block, weights, batch, x, y, kept, rest);
}

void Interpreter::HeadForward(const Operation& op, Views views) {
  const model::BatchView& batch = batches_[op.micro_batch];
  const HeadState state = HeadStateAt(views[1], op.micro_batch);
  if (op.first)
    model::HeadNormForward(ops_, parts_.config, VectorWeights(views[2]), Floats(views[3]), state.xn, state.inverse_rms,
                           batch.rows);
  float* const logits = job_ == Job::kTrain && shape_->keep_logits ? Floats(views.back()) : nullptr;
  model::HeadSliceForward(ops_, Slice(parts_.layout.head[op.block], views[0], op.first), batch, state.xn,
                          state.statistics, logits, parts_.buffers.scratch());
  if (op.last) model::HeadFinish(ops_, batch, state.statistics, parts_.buffers.loss_sums() + op.micro_batch);
}

void Interpreter::GenerateLogits(const Operation& op, Views views) {
  const model::BatchView& batch = batches_[op.micro_batch];
  const HeadState state = HeadStateAt(views[1], op.micro_batch);
  if (op.first) {
    const float* const last_row = Floats(views[3]) + (batch.rows - 1) * parts_.config.hidden;
    model::HeadNormForward(ops_, parts_.config, VectorWeights(views[2]), last_row, state.xn, state.inverse_rms, 1);
  }
  const model::VocabularySlice slice = Slice(parts_.layout.head[op.block], views[0], op.first);
  model::HeadSliceLogits(ops_, slice, state.xn, parts_.buffers.logits() + slice.first_id, 1);
}

void Interpreter::HeadBackward(const Operation& op, Views views) {
  const model::BatchView& batch = batches_[op.micro_batch];
  const HeadState state = HeadStateAt(views[1], op.micro_batch);
  float* const d = Floats(views[2]);
  const uint32_t page = parts_.layout.head[op.block];
  size_t next = 3;
  gpu::Fold fold;
  if (parts_.layout.pages[page].trainable) fold = {Floats(views[next++]), op.micro_batch > 0};
  float* const logits = shape_->keep_logits ? Floats(views[next++]) : nullptr;
  const auto scale = static_cast<float>(1.0 / static_cast<double>(request_.supervised_tokens));
  model::HeadSliceBackward(ops_, Slice(page, views[0], op.first), batch, state.xn, state.statistics, scale, d, fold,
                           logits, parts_.buffers.scratch());
  if (!op.last) return;
  gpu::Fold norm_fold;
  if (parts_.layout.pages[parts_.layout.final_norm].trainable)
    norm_fold = {Floats(views[next + 2]), op.micro_batch > 0};
  model::HeadNormBackward(ops_, parts_.config, VectorWeights(views[next]), Floats(views[next + 1]), state.inverse_rms,
                          d, d, norm_fold, batch.rows);
}

void Interpreter::BlockBackward(const Operation& op, Views views) {
  const size_t params = parts_.layout.layers[op.block].size();
  const model::LayerWeights weights = binding_.Weights(op.block, views.first(params));
  const model::BatchView& batch = batches_[op.micro_batch];
  const float* const x = Floats(views[params]);
  float* const scratch = parts_.buffers.scratch();
  size_t next = params + 1;
  float* const kept = shape_->recompute ? scratch : Floats(views[next++]);
  float* const rest = shape_->recompute ? scratch + model::KeptFloats(parts_.config, batch.rows) : scratch;
  if (shape_->recompute) model::LayerForward(ops_, parts_.config, op.block, weights, batch, x, nullptr, kept, rest);
  float* const d = Floats(views[next++]);
  model::LayerBackward(ops_, parts_.config, op.block, weights, batch, x, d, kept,
                       binding_.Folds(op.block, views.subspan(next), !op.first), rest);
}

void Interpreter::EmbedBackward(const Operation& op, Views views) {
  model::EmbedSliceBackward(ops_, Slice(parts_.layout.embedding[op.block], nullptr, op.first), batches_[op.micro_batch],
                            Floats(views[0]), {Floats(views[1]), !op.first});
}

void Interpreter::FinishGrad(const Operation& op, Views views) {
  const ParamPage& page = parts_.layout.pages[op.block];
  const bool in_place = parts_.grad_dtype == DType::kF32;
  float* const fold = Floats(views[0]);
  std::byte* const grad = in_place ? views[0] : views.back();
  const bool has_other = views.size() == (in_place ? 2U : 3U);
  const float* const other = has_other ? Floats(views[1]) : nullptr;
  for (size_t s = 0; s < page.segments.size(); ++s) {
    const uint64_t offset = page.segments[s].page_offset;
    ops_.FinishGrad(fold + offset, other != nullptr ? other + offset : nullptr,
                    grad + offset * SizeOf(parts_.grad_dtype), parts_.grad_dtype,
                    parts_.buffers.square_sums() + first_square_sum_[op.block] + s,
                    static_cast<int64_t>(page.segments[s].elements));
  }
}

Status Interpreter::FetchSums(StepOutcome& outcome) {
  parts_.compute.CopyToHost(std::as_writable_bytes(std::span(sums_)),
                            reinterpret_cast<const std::byte*>(parts_.buffers.square_sums()));
  TM_RETURN_IF_ERROR(parts_.compute.Synchronize());
  const uint64_t squares = parts_.buffers.shape().square_sums;
  for (uint32_t micro = 0; micro < shape_->micro_batches; ++micro) outcome.loss_sum += sums_[squares + micro];
  return Ok();
}

Status Interpreter::Norm(StepOutcome& outcome) {
  TM_RETURN_IF_ERROR(FetchSums(outcome));
  double square_sum = 0;
  for (uint64_t i = 0; i < parts_.buffers.shape().square_sums; ++i) square_sum += sums_[i];
  std::array totals{square_sum, outcome.loss_sum};
  TM_RETURN_IF_ERROR(parts_.communicator.AllReduceSum(totals));
  outcome.loss_sum = totals[1];
  outcome.grad_norm = std::sqrt(totals[0]);
  outcome.applied = std::isfinite(outcome.grad_norm) && std::isfinite(outcome.loss_sum);
  offload::OptimizerStep step = request_.step;
  if (request_.max_grad_norm > 0)
    step.grad_scale = std::min(1.0, request_.max_grad_norm / (outcome.grad_norm + kClipEpsilon));
  decayed_ = step.Coefficients(true);
  plain_ = step.Coefficients(false);
  parts_.optimizer_pass.BeginStep(step, outcome.applied);
  apply_ = outcome.applied;
  return Ok();
}

void Interpreter::Adam(const Operation& op, Views views) {
  if (!apply_) return;
  const swap_scheduler::ProgramPages::State& tile = pages_->state[op.block][op.micro_batch];
  size_t next = 0;
  std::byte* const param = views[next++];
  auto* const rest = tile.rest ? reinterpret_cast<uint16_t*>(views[next++]) : nullptr;
  float* const exp_avg = Floats(views[next++]);
  float* const exp_avg_sq = Floats(views[next++]);
  const std::byte* const grad = views[next];
  offload::ForEachRun(
      parts_.layout.pages[op.block], tile, [&](bool decay, uint64_t in_page, uint64_t in_tile, uint64_t elements) {
        ops_.Adam(decay ? decayed_ : plain_, param + in_page * SizeOf(parts_.param_dtype),
                  rest != nullptr ? rest + in_tile : nullptr, exp_avg + in_tile, exp_avg_sq + in_tile,
                  grad + in_page * SizeOf(parts_.grad_dtype), parts_.grad_dtype, static_cast<int64_t>(elements));
      });
}

}  // namespace tidemill::train
