// `tidemill generate`: continues a prompt, token by token, with a key-value cache, through the store.
//
// Greedy at temperature 0 (of equal logits the lowest id), else sampled from softmax(logits / temperature) with a
// generator of our own: the same seed gives the same text wherever the logits are the same.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>

#include "base/split_mix64.h"
#include "data/stream_decoder.h"
#include "data/tokenizer.h"
#include "train/jobs.h"
#include "train/machine.h"
#include "train/session.h"
#include "train/signals.h"
#include "train/weights.h"

namespace tidemill::train {
namespace {

int32_t Greedy(std::span<const float> logits) {
  return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

int32_t Sample(std::span<const float> logits, double temperature, SplitMix64& random) {
  const double maximum = *std::max_element(logits.begin(), logits.end());
  std::vector<double> weights(logits.size());
  std::transform(logits.begin(), logits.end(), weights.begin(),
                 [&](float logit) { return std::exp((logit - maximum) / temperature); });
  double left = random.Uniform() * std::accumulate(weights.begin(), weights.end(), 0.0);
  for (size_t id = 0; id < weights.size(); ++id) {
    left -= weights[id];
    if (left < 0) return static_cast<int32_t>(id);
  }
  return Greedy(logits);
}

// Rows `cached` .. of one sequence.
TokenBatch Continue(std::span<const int32_t> ids, int32_t cached) {
  TokenBatch batch;
  const auto rows = static_cast<int32_t>(ids.size());
  batch.ids.assign(ids.begin(), ids.end());
  batch.positions.resize(ids.size());
  std::iota(batch.positions.begin(), batch.positions.end(), cached);
  batch.targets.assign(ids.size(), kIgnoredTarget);
  batch.offsets = {0, rows};
  batch.key_offsets = {0, cached + rows};
  batch.longest_sequence = rows;
  batch.cached = cached;
  return batch;
}

Result<std::unique_ptr<Session>> OpenSession(const GenerateOptions& options, ModelFiles files, size_t prompt_tokens) {
  TM_ASSIGN_OR_RETURN(std::unique_ptr<gpu::Device> device, OpenDevice(options.tiers));
  JobShape job;
  job.evaluation_batches = 1;
  job.rows = prompt_tokens;
  job.cache_rows = job.positions = prompt_tokens + static_cast<uint64_t>(options.max_new_tokens);
  job.dtype = options.dtype;
  const uint64_t available = DescribeMachine().usable_memory_bytes();
  TM_ASSIGN_OR_RETURN(Preparation preparation, Prepare(std::move(files), options.tiers, job, *device, available));
  TM_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                      Session::Open(std::move(preparation), std::move(device), "generate with " + options.model));
  for (const std::string& note : session->Notes()) std::fprintf(stderr, "%s\n", note.c_str());
  TM_RETURN_IF_ERROR(session->ZeroCaches());
  TM_RETURN_IF_ERROR(LoadWeights(*session->preparation().files.folder, session->state(), false));
  return session;
}

}  // namespace

Status Generate(const GenerateOptions& options, const std::function<void(std::string_view)>& text) {
  InstallSignalHandlers();
  TM_ASSIGN_OR_RETURN(ModelFiles files, OpenModel(options.model, {}, true));
  TM_ASSIGN_OR_RETURN(const std::unique_ptr<data::Tokenizer> tokenizer,
                      data::Tokenizer::Open(options.model + "/tokenizer.json"));
  TM_ASSIGN_OR_RETURN(const std::vector<int32_t> stops, EndOfTextIds(files));
  std::vector<int32_t> ids = tokenizer->Encode(options.prompt);
  if (ids.empty()) return Fail(ErrorCode::kInvalidArgument, "the prompt has no token (--prompt): give some text");
  for (const int32_t id : ids) {
    if (id >= files.config.vocabulary)
      return Fail(ErrorCode::kInvalidArgument, "token " + std::to_string(id) +
                                                   " of the prompt is beyond the embedding's " +
                                                   std::to_string(files.config.vocabulary) + " rows (" + options.model +
                                                   "): tokenizer and model do not belong together");
  }
  TM_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, OpenSession(options, std::move(files), ids.size()));
  data::StreamDecoder decoder(*tokenizer, true);
  SplitMix64 random(options.seed);
  int32_t cached = 0;
  for (int64_t made = 0; made < options.max_new_tokens; ++made) {
    TM_RETURN_IF_ERROR(CheckNotStopped());
    const TokenBatch batch = Continue(std::span(ids).subspan(static_cast<size_t>(cached)), cached);
    TM_ASSIGN_OR_RETURN(const std::span<const float> logits, session->Generate(batch));
    cached = static_cast<int32_t>(ids.size());
    const int32_t next = options.temperature > 0 ? Sample(logits, options.temperature, random) : Greedy(logits);
    if (std::find(stops.begin(), stops.end(), next) != stops.end()) break;
    ids.push_back(next);
    text(decoder.Push(next));
  }
  text(decoder.Flush());
  return Ok();
}

}  // namespace tidemill::train
