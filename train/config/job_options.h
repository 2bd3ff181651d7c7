// What the jobs other than training are asked to do: eval, generate, plan, export.
//
//   Errors   kInvalidArgument, naming the flag.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/dtype.h"
#include "base/result.h"
#include "train/config/run_config.h"
#include "train/config/tier_options.h"

namespace tidemill::train {

struct EvalOptions {
  std::string model, eval_data;
  std::string dataset_format = "auto";  // the flag's value
  int64_t max_length = 1024, batch_size = 1;
  std::optional<DType> dtype;  // nothing: auto
  TierOptions tiers;
  bool json = false;
};
Result<EvalOptions> ParseEvalOptions(const FlagSet& flags);

struct GenerateOptions {
  std::string model, prompt;
  int64_t max_new_tokens = 128;
  double temperature = 0;  // 0: greedy
  uint64_t seed = 42;
  std::optional<DType> dtype;  // nothing: auto
  TierOptions tiers;
};
Result<GenerateOptions> ParseGenerateOptions(const FlagSet& flags);

struct PlanOptions {
  RunConfig run;
  bool json = false;
};
Result<PlanOptions> ParsePlanOptions(const FlagSet& flags);

struct ExportOptions {
  std::string checkpoint, swap_dir;  // exactly one of them is given
  std::string output_dir;
  std::optional<DType> save_dtype;  // nothing: as in the source
  uint64_t max_shard_bytes = 5'000'000'000;
};

}  // namespace tidemill::train
