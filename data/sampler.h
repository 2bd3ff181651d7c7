// Which records make up which optimizer step: a pure function of these options and the step's number, so that a resumed
// run needs nothing but the number.
//
// An epoch is the records in order, shuffled or not, cut into micro-batches (the last may be smaller), and those into
// windows of `accumulation_steps` (the last may be shorter, and is a step like the others): Hugging Face Trainer's
// count, ceil(ceil(records / micro_batch_size) / accumulation_steps) steps an epoch.
//
// Shuffling is Fisher and Yates's, from the last place down, over SplitMix64 (base/split_mix64.h), started from
// the seed and the epoch; a place below n is drawn by Lemire's multiplication with rejection (arXiv:1805.10941), hence
// without bias. No library's generator is used: orders are the same on every platform, for ever.
//
//   Threads  one thread at a time: the order of one epoch is kept.
//   Limits   4 bytes of memory a record while shuffling; fewer than 2^32 - 1 records.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tidemill::data {

struct SamplerOptions {
  uint64_t records = 0;  // at least 1
  uint64_t micro_batch_size = 1;
  uint64_t accumulation_steps = 1;
  bool shuffle = true;
  uint64_t seed = 42;
};

// What one optimizer step reads.
struct Window {
  uint64_t epoch;                                    // from 0
  bool ends_epoch;                                   // the next step is of another epoch
  std::vector<std::vector<uint32_t>> micro_batches;  // record numbers; 1 to accumulation_steps batches, none empty
};

class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options);

  uint64_t BatchesPerEpoch() const { return batches_per_epoch_; }
  uint64_t StepsPerEpoch() const { return steps_per_epoch_; }

  // Steps of so many epochs, parts of one rounded up to a step.
  uint64_t StepsOf(double epochs) const;

  // Steps count from 0, through all epochs.
  Window WindowOf(uint64_t step);

  // How many epochs are done once `steps` steps are, counted in micro-batches as Hugging Face does.
  double EpochsAfter(uint64_t steps) const;

  // The order of an epoch's records.
  static std::vector<uint32_t> OrderOf(const SamplerOptions& options, uint64_t epoch);

 private:
  const SamplerOptions options_;
  uint64_t batches_per_epoch_;
  uint64_t steps_per_epoch_;
  std::optional<uint64_t> order_epoch_;  // whose order is kept
  std::vector<uint32_t> order_;
};

}  // namespace tidemill::data
