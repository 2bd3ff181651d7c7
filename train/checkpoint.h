// checkpoint-N: a Hugging Face folder with, beside the weights, what continuing bit by bit needs:
//
//   optimizer/{master,exp_avg,exp_avg_sq}.safetensors   fp32, under Hugging Face tensor names
//   trainer_state.json                                  written last
//
//   Durability  everything is written into checkpoint-N.partial, flushed, and the folder takes its name by a rename: a
//               folder called checkpoint-N is whole. A failed or killed save leaves the last one as it was, also one of
//               the same step: the two are exchanged, and the old one is removed under the other name.
//   Errors      kNoSpace and kIo while saving, naming the file; kInvalidArgument for a folder that is no checkpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "train/trainer_state.h"
#include "train/weights.h"

namespace tidemill::train {

// What saving takes from the run, the same for every checkpoint and for the output folder.
struct SaveSource {
  const data::ModelFolder* folder = nullptr;  // the model that the run started from
  const swap_scheduler::ModelTensors* tensors = nullptr;
  offload::ModelState* state = nullptr;
  std::optional<DType> save_dtype;
  uint64_t max_shard_bytes = 5'000'000'000;
};

// Weights and companion files into `directory`, which is made if it is missing.
Status SaveModel(const SaveSource& source, const std::string& directory);

// output_dir/checkpoint-N of state.global_step; then removes the oldest others beyond `total_limit`.
Status SaveCheckpoint(const SaveSource& source, const TrainerState& state, const std::string& output_dir,
                      std::optional<int64_t> total_limit);

// The checkpoints of an output folder, the highest step first.
std::vector<std::string> CheckpointsNewestFirst(const std::string& output_dir);

// Removes what killed saves left behind.
void RemovePartialCheckpoints(const std::string& output_dir);

// That the weights and the optimizer state of a checkpoint are all there: no file missing or cut short.
Status CheckWhole(const std::string& checkpoint);

// Masters and moments of all trainable pages from a checkpoint; frozen ones from `folder`.
Status LoadCheckpoint(const std::string& checkpoint, const data::ModelFolder& folder, offload::ModelState& state);

}  // namespace tidemill::train
