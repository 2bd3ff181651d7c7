#include "train/config/job_options.h"

#include "train/config/flag_checks.h"

namespace tidemill::train {
namespace {

tl::unexpected<Error> Refuse(std::string message) { return Fail(ErrorCode::kInvalidArgument, std::move(message)); }

}  // namespace

Result<EvalOptions> ParseEvalOptions(const FlagSet& given) {
  TM_ASSIGN_OR_RETURN(const FlagSet flags, WithConfigFile(given));
  EvalOptions options;
  options.model = flags.Text("model");
  options.eval_data = flags.Text("eval-data");
  if (options.model.empty()) return Refuse("no model: give --model");
  if (options.eval_data.empty()) return Refuse("no evaluation data: give --eval-data");
  options.dataset_format = flags.Text("dataset-format");
  TM_ASSIGN_OR_RETURN(options.max_length, WholeFlag(flags, "max-length", 2));
  if (flags.Has("per-device-eval-batch-size")) {
    TM_ASSIGN_OR_RETURN(options.batch_size, WholeFlag(flags, "per-device-eval-batch-size", 1));
  }
  TM_ASSIGN_OR_RETURN(options.dtype, DTypeFlag(flags, "dtype"));
  TM_ASSIGN_OR_RETURN(options.tiers, ParseTierOptions(flags));
  options.json = flags.Bool("json");
  return options;
}

Result<GenerateOptions> ParseGenerateOptions(const FlagSet& given) {
  TM_ASSIGN_OR_RETURN(const FlagSet flags, WithConfigFile(given));
  GenerateOptions options;
  options.model = flags.Text("model");
  options.prompt = flags.Text("prompt");
  if (options.model.empty()) return Refuse("no model: give --model");
  if (!flags.Has("prompt")) return Refuse("no prompt: give --prompt");
  TM_ASSIGN_OR_RETURN(options.max_new_tokens, WholeFlag(flags, "max-new-tokens", 0));
  options.temperature = flags.Number("temperature");
  if (options.temperature < 0) return Refuse("--temperature is negative: give 0 for the likeliest token, or more");
  TM_ASSIGN_OR_RETURN(const int64_t seed, WholeFlag(flags, "seed", 0));
  options.seed = static_cast<uint64_t>(seed);
  TM_ASSIGN_OR_RETURN(options.dtype, DTypeFlag(flags, "dtype"));
  TM_ASSIGN_OR_RETURN(options.tiers, ParseTierOptions(flags));
  return options;
}

Result<PlanOptions> ParsePlanOptions(const FlagSet& flags) {
  PlanOptions options;
  TM_ASSIGN_OR_RETURN(options.run, ParseRunConfig(RunKind::kPlan, flags));
  options.json = flags.Bool("json");
  return options;
}

}  // namespace tidemill::train
