#include "train/config/run_config.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "train/config/config_file.h"
#include "train/config/flag_checks.h"

namespace tidemill::train {
namespace {

tl::unexpected<Error> Refuse(std::string message) { return Fail(ErrorCode::kInvalidArgument, std::move(message)); }

struct Range {
  std::string_view flag;
  double least, most;
  bool below_most;  // most itself is too much
};

Status CheckRange(const FlagSet& flags, const Range& range) {
  const double value = flags.Number(range.flag);
  if (value >= range.least && (range.below_most ? value < range.most : value <= range.most)) return Ok();
  std::string message = "--" + std::string(range.flag) + " is " + flags.Text(range.flag) + ": give ";
  if (std::isinf(range.most)) return Refuse(message + "0 or more");
  return Refuse(message + (range.below_most ? "at least 0 and below 1" : "0 to 1"));
}

Status FillData(const FlagSet& flags, RunConfig* config) {
  config->model = flags.Text("model");
  config->train_data = flags.Texts("train-data");
  config->eval_data = flags.Text("eval-data");
  config->output_dir = flags.Text("output-dir");
  config->dataset_format = flags.Text("dataset-format");
  TM_ASSIGN_OR_RETURN(config->train_batch_size, WholeFlag(flags, "per-device-train-batch-size", 1));
  TM_ASSIGN_OR_RETURN(config->accumulation_steps, WholeFlag(flags, "gradient-accumulation-steps", 1));
  TM_ASSIGN_OR_RETURN(config->max_length, WholeFlag(flags, "max-length", 2));
  TM_ASSIGN_OR_RETURN(const int64_t seed, WholeFlag(flags, "seed", 0, std::numeric_limits<int64_t>::max()));
  config->seed = static_cast<uint64_t>(seed);
  config->eval_batch_size = config->train_batch_size;
  if (flags.MaybeInteger("per-device-eval-batch-size").has_value()) {
    TM_ASSIGN_OR_RETURN(config->eval_batch_size, WholeFlag(flags, "per-device-eval-batch-size", 1));
  }
  config->shuffle = flags.Bool("shuffle");
  config->max_steps = flags.Integer("max-steps");
  config->num_train_epochs = flags.Number("num-train-epochs");
  if (config->max_steps <= 0 && config->num_train_epochs <= 0)
    return Refuse("--num-train-epochs is " + flags.Text("num-train-epochs") + ": give more than 0, or --max-steps");
  constexpr int64_t kMost = int64_t{1} << 30;
  if (config->num_train_epochs > static_cast<double>(kMost))
    return Refuse("--num-train-epochs is " + flags.Text("num-train-epochs") + ": give at most " +
                  std::to_string(kMost));
  return Ok();
}

Status FillOptimizer(const FlagSet& flags, RunConfig* config) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const Range& range : {Range{"learning-rate", 0, kInfinity, false}, Range{"weight-decay", 0, kInfinity, false},
                             Range{"adam-beta1", 0, 1, true}, Range{"adam-beta2", 0, 1, true},
                             Range{"adam-epsilon", 0, kInfinity, false}, Range{"max-grad-norm", 0, kInfinity, false},
                             Range{"warmup-steps", 0, kInfinity, false}, Range{"warmup-ratio", 0, 1, false}})
    TM_RETURN_IF_ERROR(CheckRange(flags, range));
  config->learning_rate = flags.Number("learning-rate");
  config->weight_decay = flags.Number("weight-decay");
  config->adam_beta1 = flags.Number("adam-beta1");
  config->adam_beta2 = flags.Number("adam-beta2");
  config->adam_epsilon = flags.Number("adam-epsilon");
  config->max_grad_norm = flags.Number("max-grad-norm");
  config->warmup = {flags.Number("warmup-steps"), flags.Number("warmup-ratio")};
  if (config->warmup.steps >= 1 && config->warmup.steps != std::trunc(config->warmup.steps))
    return Refuse("--warmup-steps is " + flags.Text("warmup-steps") + ": give whole steps, or a share below 1");
  TM_ASSIGN_OR_RETURN(config->schedule, ScheduleTypeFromName(flags.Text("lr-scheduler-type")));
  TM_ASSIGN_OR_RETURN(config->schedule_options,
                      ParseScheduleOptions(config->schedule, flags.Text("lr-scheduler-kwargs")));
  // Whether the options fit does not depend on the run's length: say so before anything is loaded.
  TM_RETURN_IF_ERROR(Schedule::Create(config->schedule, config->learning_rate, config->warmup, config->schedule_options,
                                      /*total_steps=*/1));
  return Ok();
}

// Torch's names of the encodings that torch has too.
Result<cpu_adam::StateDtype> StateDtypeOf(const FlagSet& flags) {
  const std::string text = flags.Text("state-dtype");
  return cpu_adam::StateDtypeFromName(text == "float32" ? "fp32" : text == "bfloat16" ? "bf16" : text);
}

// Devices step fp32 moments of an fp32 master only.
Status CheckStatePlace(const RunConfig& config) {
  const bool exact_state = config.state_dtype == cpu_adam::StateDtype::kFp32;
  if (!config.tiers.place_optimizer.Names(swap_scheduler::Tier::kDevice)) return Ok();
  if (exact_state && config.master_dtype == DType::kF32) return Ok();
  const std::string flag = exact_state ? "--master-dtype" : "--state-dtype";
  return Refuse("--place-optimizer names device, and " + flag + " " +
                (exact_state ? "bf16" : std::string(cpu_adam::StateDtypeName(config.state_dtype))) +
                " is stepped on the host only: give host, nvme or auto, or " + flag + " fp32");
}

// A bf16 master is the bf16 parameter itself. With fp32 compute there is none: the parameter is the fp32 master.
Status CheckMaster(const RunConfig& config) {
  if (config.master_dtype == DType::kF32 || config.dtype == DType::kBf16) return Ok();
  return Refuse(
      "--master-dtype bf16 is the bf16 parameter, and the compute dtype is fp32 (--dtype): give --dtype bf16, or "
      "--master-dtype fp32");
}

Status FillPrecision(const FlagSet& flags, RunConfig* config) {
  TM_ASSIGN_OR_RETURN(config->dtype, DTypeFlag(flags, "dtype"));
  TM_ASSIGN_OR_RETURN(config->grad_dtype, DTypeFlag(flags, "grad-dtype"));
  TM_ASSIGN_OR_RETURN(config->state_dtype, StateDtypeOf(flags));
  TM_ASSIGN_OR_RETURN(const std::optional<DType> master, DTypeFlag(flags, "master-dtype"));
  config->master_dtype = *master;  // auto is not one of its values
  TM_ASSIGN_OR_RETURN(config->save_dtype, DTypeFlag(flags, "save-dtype"));
  if (flags.Bool("bf16")) {
    if (config->dtype.has_value() && *config->dtype != DType::kBf16)
      return Refuse("--bf16 and --dtype " + flags.Text("dtype") + " contradict each other: give one of them");
    config->dtype = DType::kBf16;
  }
  config->activation_checkpointing = flags.Bool("activation-checkpointing");
  config->freeze = flags.Texts("freeze");
  return CheckMaster(*config);
}

Result<StepPeriod> Period(const FlagSet& flags, std::string_view name) {
  const StepPeriod period{flags.Number(name)};
  if (period.value <= 0 || (period.value >= 1 && period.value != std::trunc(period.value)))
    return Refuse("--" + std::string(name) + " is " + flags.Text(name) + ": give whole steps, or a share below 1");
  return period;
}

Status FillSaving(const FlagSet& flags, RunConfig* config) {
  config->max_shard_bytes = flags.Bytes("max-shard-size");
  if (config->max_shard_bytes == 0) return Refuse("--max-shard-size is 0: give at least one byte");
  TM_ASSIGN_OR_RETURN(config->logging, Period(flags, "logging-steps"));
  TM_ASSIGN_OR_RETURN(config->save, Period(flags, "save-steps"));
  const std::string save = flags.Text("save-strategy"), eval = flags.Text("eval-strategy");
  config->save_when = save == "no" ? SaveWhen::kNever : save == "epoch" ? SaveWhen::kEpoch : SaveWhen::kSteps;
  config->save_total_limit = flags.MaybeInteger("save-total-limit");
  if (config->save_total_limit.has_value()) TM_RETURN_IF_ERROR(WholeFlag(flags, "save-total-limit", 1));
  config->resume = flags.Text("resume-from-checkpoint");
  if (config->resume == "true") config->resume = "auto";  // Hugging Face's spelling
  if (config->resume == "false") config->resume.clear();

  const bool has_period = !flags.Text("eval-steps").empty(), wanted = has_period || eval == "steps" || eval == "epoch";
  if (wanted && config->eval_data.empty())
    return Refuse(std::string(has_period ? "--eval-steps" : "--eval-strategy") + " needs --eval-data: give a file");
  if (config->eval_data.empty() || eval == "no") return Ok();
  config->eval_when = eval == "epoch" ? EvalWhen::kEpoch : wanted ? EvalWhen::kSteps : EvalWhen::kEnd;
  TM_ASSIGN_OR_RETURN(config->eval, Period(flags, has_period ? "eval-steps" : "logging-steps"));
  return Ok();
}

// A run must not write over what it reads.
Status CheckFolders(RunKind kind, const RunConfig& config) {
  namespace fs = std::filesystem;
  if (config.model.empty()) return Refuse("no model: give --model");
  if (kind == RunKind::kTrain && config.train_data.empty()) return Refuse("no training data: give --train-data");
  if (kind == RunKind::kTrain && config.output_dir.empty()) return Refuse("no output folder: give --output-dir");
  std::error_code missing;
  if (!config.output_dir.empty() && fs::equivalent(config.model, config.output_dir, missing))
    return Refuse("--output-dir is the model's own folder (" + config.output_dir + "): give another");
  return Ok();
}

}  // namespace

int64_t StepPeriod::Steps(int64_t total_steps) const {
  const double steps = value >= 1 ? value : std::ceil(value * static_cast<double>(total_steps));
  return std::max<int64_t>(1, static_cast<int64_t>(steps));
}

Result<FlagSet> WithConfigFile(const FlagSet& flags) {
  std::vector<FlagValue> values;
  if (FindFlag(flags.table(), "config") != nullptr && flags.Has("config")) {
    TM_ASSIGN_OR_RETURN(values, ReadConfigFile(flags.Text("config"), flags.table(), RunFlagAliases()));
    std::erase_if(values, [&](const FlagValue& value) { return flags.Has(value.name); });
  }
  values.insert(values.end(), flags.values().begin(), flags.values().end());
  for (const FlagValue& value : values)
    TM_RETURN_IF_ERROR(CheckAvailable(*FindFlag(flags.table(), value.name), value.text));
  return FlagSet(flags.table(), std::move(values));
}

Result<RunConfig> ParseRunConfig(RunKind kind, const FlagSet& given) {
  TM_ASSIGN_OR_RETURN(const FlagSet flags, WithConfigFile(given));
  RunConfig config;
  TM_RETURN_IF_ERROR(FillData(flags, &config));
  TM_RETURN_IF_ERROR(CheckFolders(kind, config));
  TM_RETURN_IF_ERROR(FillOptimizer(flags, &config));
  TM_RETURN_IF_ERROR(FillPrecision(flags, &config));
  TM_RETURN_IF_ERROR(FillSaving(flags, &config));
  TM_ASSIGN_OR_RETURN(config.tiers, ParseTierOptions(flags));
  TM_RETURN_IF_ERROR(CheckStatePlace(config));
  return config;
}

}  // namespace tidemill::train
