#include "train/config/job_options.h"

namespace tidemill::train {
namespace {

tl::unexpected<Error> Refuse(std::string message) { return Fail(ErrorCode::kInvalidArgument, std::move(message)); }

Result<std::optional<DType>> ComputeDType(const FlagSet& flags) {
  if (flags.Text("dtype") == "auto") return std::optional<DType>();
  TM_ASSIGN_OR_RETURN(const DType dtype, DTypeFromTorchName(flags.Text("dtype")));
  return std::optional(dtype);
}

Result<int64_t> AtLeast(const FlagSet& flags, std::string_view name, int64_t least) {
  constexpr int64_t kMost = int64_t{1} << 30;
  const int64_t value = flags.Integer(name);
  if (value < least || value > kMost)
    return Refuse("--" + std::string(name) + " is " + std::to_string(value) + ": give " + std::to_string(least) +
                  " to " + std::to_string(kMost));
  return value;
}

}  // namespace

Result<EvalOptions> ParseEvalOptions(const FlagSet& given) {
  TM_ASSIGN_OR_RETURN(const FlagSet flags, WithConfigFile(given));
  EvalOptions options;
  options.model = flags.Text("model");
  options.eval_data = flags.Text("eval-data");
  if (options.model.empty()) return Refuse("no model: give --model");
  if (options.eval_data.empty()) return Refuse("no evaluation data: give --eval-data");
  options.dataset_format = flags.Text("dataset-format");
  TM_ASSIGN_OR_RETURN(options.max_length, AtLeast(flags, "max-length", 2));
  if (flags.Has("per-device-eval-batch-size")) {
    TM_ASSIGN_OR_RETURN(options.batch_size, AtLeast(flags, "per-device-eval-batch-size", 1));
  }
  TM_ASSIGN_OR_RETURN(options.dtype, ComputeDType(flags));
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
  TM_ASSIGN_OR_RETURN(options.max_new_tokens, AtLeast(flags, "max-new-tokens", 0));
  options.temperature = flags.Number("temperature");
  if (options.temperature < 0) return Refuse("--temperature is negative: give 0 for the likeliest token, or more");
  TM_ASSIGN_OR_RETURN(const int64_t seed, AtLeast(flags, "seed", 0));
  options.seed = static_cast<uint64_t>(seed);
  TM_ASSIGN_OR_RETURN(options.dtype, ComputeDType(flags));
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
