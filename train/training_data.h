// The windows of a training run: which samples each step trains on, as micro-batches. A pure function of data, seed and
// step.
//
//   Errors   kInvalidArgument with file:line for a bad record.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/token_batch.h"
#include "data/dataset.h"
#include "data/sampler.h"
#include "data/tokenizer.h"
#include "train/config/run_config.h"
#include "train/model_files.h"

namespace tidemill::train {

// Files as samples. The model's tokenizer is opened only if their format needs one.
class SampleSource {
 public:
  // `format`: the value of --dataset-format.
  static Result<SampleSource> Open(const ModelFiles& model, const std::vector<std::string>& files, int64_t max_length,
                                   const std::string& format);

  uint64_t size() const { return dataset_->size(); }
  uint64_t longest_row() const { return dataset_->LongestRowUpperBound(); }  // tokens, an upper bound
  uint64_t special_tokens_in_texts() const { return dataset_->SpecialTokensInTexts(); }
  Result<TokenBatch> Load(std::span<const uint32_t> records);

 private:
  std::unique_ptr<data::Tokenizer> tokenizer_;
  std::unique_ptr<data::Dataset> dataset_;
};

// The samples of one optimizer step.
struct Window {
  std::vector<TokenBatch> batches;
  int64_t supervised = 0, tokens = 0;
  double epoch = 0;  // after this step
  bool ends_epoch = false;
};

class TrainingData {
 public:
  static Result<TrainingData> Open(const RunConfig& config, const ModelFiles& model);

  int64_t total_steps() const { return total_steps_; }
  const SampleSource& source() const { return source_; }
  std::vector<uint32_t> Windows() const;  // numbers of micro-batches that occur, the full window first
  Result<Window> Load(int64_t step);      // step 0 is the first

 private:
  TrainingData(SampleSource source, const data::Sampler& sampler, int64_t accumulation_steps, int64_t total_steps)
      : source_(std::move(source)),
        sampler_(sampler),
        accumulation_steps_(accumulation_steps),
        total_steps_(total_steps) {}

  SampleSource source_;
  data::Sampler sampler_;
  int64_t accumulation_steps_, total_steps_;
};

}  // namespace tidemill::train
