#include "train/training_data.h"

#include <algorithm>

#include "data/dataset_format.h"
#include "data/end_token.h"
#include "train/collate.h"

namespace tidemill::train {
namespace {

Result<bool> NeedsTokenizer(const std::vector<std::string>& files, const std::string& format) {
  for (const std::string& path : files) {
    TM_ASSIGN_OR_RETURN(const data::DatasetFormat found, data::FormatOf(path, format));
    if (found != data::DatasetFormat::kInputIds) return true;
  }
  return false;
}

}  // namespace

Result<SampleSource> SampleSource::Open(const ModelFiles& model, const std::vector<std::string>& files,
                                        int64_t max_length, const std::string& format) {
  SampleSource source;
  data::DatasetOptions options;
  options.max_length = static_cast<size_t>(max_length);
  options.vocab_size = model.config.vocabulary;
  options.format = format;
  TM_ASSIGN_OR_RETURN(const bool needs_tokenizer, NeedsTokenizer(files, format));
  if (needs_tokenizer) {
    TM_ASSIGN_OR_RETURN(source.tokenizer_, data::Tokenizer::Open(model.directory + "/tokenizer.json"));
    TM_ASSIGN_OR_RETURN(options.append_eos, data::FindEndToken(model.directory, *source.tokenizer_));
  }
  TM_ASSIGN_OR_RETURN(data::Dataset dataset, data::Dataset::Open(files, source.tokenizer_.get(), options));
  source.dataset_ = std::make_unique<data::Dataset>(std::move(dataset));
  return source;
}

Result<TokenBatch> SampleSource::Load(std::span<const uint32_t> records) {
  std::vector<data::Sample> samples;
  for (const uint32_t record : records) {
    TM_ASSIGN_OR_RETURN(data::Sample sample, dataset_->Get(record));
    samples.push_back(std::move(sample));
  }
  return Collate(samples);
}

Result<TrainingData> TrainingData::Open(const RunConfig& config, const ModelFiles& model) {
  TM_ASSIGN_OR_RETURN(SampleSource source,
                      SampleSource::Open(model, config.train_data, config.max_length, config.dataset_format));
  if (source.size() == 0)
    return Fail(ErrorCode::kInvalidArgument, "the training data has no record (" + config.train_data.front() + ")");
  const data::Sampler sampler({.records = source.size(),
                               .micro_batch_size = static_cast<uint64_t>(config.train_batch_size),
                               .accumulation_steps = static_cast<uint64_t>(config.accumulation_steps),
                               .shuffle = config.shuffle,
                               .seed = config.seed});
  const int64_t steps =
      config.max_steps > 0 ? config.max_steps : static_cast<int64_t>(sampler.StepsOf(config.num_train_epochs));
  return TrainingData(std::move(source), sampler, config.accumulation_steps, steps);
}

std::vector<uint32_t> TrainingData::Windows() const {
  const uint64_t batches = sampler_.BatchesPerEpoch();
  const auto full = std::min<uint64_t>(static_cast<uint64_t>(accumulation_steps_), batches);
  std::vector<uint32_t> windows{static_cast<uint32_t>(full)};
  if (batches % full != 0) windows.push_back(static_cast<uint32_t>(batches % full));
  return windows;
}

Result<Window> TrainingData::Load(int64_t step) {
  const data::Window picked = sampler_.WindowOf(static_cast<uint64_t>(step));
  Window window;
  for (const auto& records : picked.micro_batches) {
    TM_ASSIGN_OR_RETURN(TokenBatch batch, source_.Load(records));
    window.supervised += batch.supervised;
    window.tokens += batch.rows();
    window.batches.push_back(std::move(batch));
  }
  window.epoch = sampler_.EpochsAfter(static_cast<uint64_t>(step) + 1);
  window.ends_epoch = picked.ends_epoch;
  return window;
}

}  // namespace tidemill::train
