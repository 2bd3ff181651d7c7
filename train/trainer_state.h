// What a run has to remember beside its weights and moments: trainer_state.json.
//
//   Errors   kInvalidArgument names the file and the key; a file of another run's identity is refused by the caller.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace tidemill::train {

struct TrainerState {
  int64_t global_step = 0;    // windows consumed: the data position
  int64_t applied_steps = 0;  // of the optimizer and the schedule: less by the skipped ones
  double epoch = 0;
  int64_t max_steps = 0;
  // May not change when a run is continued.
  uint64_t seed = 0;
  bool shuffle = true;
  std::string dtype;         // compute
  std::string data_digest;   // of the training files
  std::string model_digest;  // of config.json
  // May change, saying so.
  int64_t train_batch_size = 1, accumulation_steps = 1;
  std::string state_dtype = "fp32", master_dtype = "fp32";
};

// What tells one model, or one set of training files, from another without reading all of it: CRC-32C over the length
// of config.json, or of each file in turn, and up to 1 MiB from each end of it.
Result<std::string> ModelDigest(const std::string& model_directory);
Result<std::string> DataDigest(const std::vector<std::string>& files);

std::string FormatTrainerState(const TrainerState& state);
// `path`: where the text is from, for messages.
Result<TrainerState> ParseTrainerState(const std::string& text, const std::string& path);
Result<TrainerState> ReadTrainerState(const std::string& path);

}  // namespace tidemill::train
