#include "train/training_job.h"

#include <algorithm>

namespace tidemill::train {
namespace {

// A batch holds no more sequences than there are records.
JobShape ShapeFor(const RunConfig& config, uint64_t longest_row, uint64_t records) {
  JobShape job;
  job.positions = longest_row;
  job.sequences = std::min(static_cast<uint64_t>(config.train_batch_size), records);
  job.rows = job.positions * job.sequences;
  job.recompute = config.activation_checkpointing;
  job.dtype = config.dtype;
  job.grad_dtype = config.grad_dtype;
  job.state_dtype = config.state_dtype;
  job.master_dtype = config.master_dtype;
  return job;
}

}  // namespace

JobShape TrainingJob(const RunConfig& config, const TrainingData& data, const SampleSource* evaluation) {
  JobShape job = ShapeFor(config, data.source().longest_row(), data.source().size());
  job.windows = data.Windows();
  if (evaluation == nullptr) return job;
  job.evaluation_batches = 1;
  const auto sequences = std::min(static_cast<uint64_t>(config.eval_batch_size), evaluation->size());
  const auto longest = evaluation->longest_row();
  job.positions = std::max(job.positions, longest);
  job.rows = std::max(job.rows, longest * sequences);
  job.sequences = std::max(job.sequences, sequences);
  return job;
}

JobShape LargestTrainingJob(const RunConfig& config) {
  JobShape job = ShapeFor(config, static_cast<uint64_t>(config.max_length), UINT64_MAX);
  job.windows = {static_cast<uint32_t>(config.accumulation_steps)};
  return job;
}

}  // namespace tidemill::train
