// A training run as its flags describe it: typed, in range, and consistent.
//
//   Ownership   plain values.
//   Errors      kInvalidArgument, naming the flag (or the file and the JSON path) and what to do.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "cpu_adam/state_encoding.h"
#include "train/config/run_flags.h"
#include "train/config/tier_options.h"
#include "train/schedule.h"

namespace tidemill::train {

// A period in steps as Hugging Face writes it: 1 or more is a number of steps, below 1 a share of the run.
struct StepPeriod {
  double value = 0;
  int64_t Steps(int64_t total_steps) const;  // at least 1
};

enum class SaveWhen : uint8_t { kNever, kSteps, kEpoch };
enum class EvalWhen : uint8_t { kNever, kSteps, kEpoch, kEnd };

struct RunConfig {
  std::string model;  // folder
  std::vector<std::string> train_data;
  std::string eval_data, output_dir;    // empty: none
  std::string dataset_format = "auto";  // the flag's value

  double num_train_epochs = 3;
  int64_t max_steps = -1;  // above 0: instead of epochs
  int64_t train_batch_size = 1, accumulation_steps = 1, eval_batch_size = 1;
  int64_t max_length = 1024;
  uint64_t seed = 42;
  bool shuffle = true;

  double learning_rate = 2e-5;
  ScheduleType schedule = ScheduleType::kLinear;
  ScheduleOptions schedule_options;
  Warmup warmup;
  double weight_decay = 0, adam_beta1 = 0.9, adam_beta2 = 0.999, adam_epsilon = 1e-8;
  double max_grad_norm = 1;  // 0: no clipping

  std::optional<DType> dtype, grad_dtype, save_dtype;  // nothing: auto
  cpu_adam::StateDtype state_dtype = cpu_adam::StateDtype::kFp32;
  DType master_dtype = DType::kF32;  // or bf16, only with bf16 compute
  bool activation_checkpointing = true;
  std::vector<std::string> freeze;  // regular expressions

  TierOptions tiers;

  uint64_t max_shard_bytes = 5'000'000'000;
  StepPeriod logging, save, eval;
  SaveWhen save_when = SaveWhen::kSteps;
  EvalWhen eval_when = EvalWhen::kNever;
  std::optional<int64_t> save_total_limit;  // nothing: keep all
  std::string resume;                       // "": start anew; "auto"; or a path
};

// `flags` are those of train or plan (RunFlags). Reads --config; the flags given win over it. train needs model,
// training data and output folder; plan only the model.
Result<RunConfig> ParseRunConfig(RunKind kind, const FlagSet& flags);

// `flags` with the values of its --config file below them; refuses what is not available in this build.
Result<FlagSet> WithConfigFile(const FlagSet& flags);

}  // namespace tidemill::train
