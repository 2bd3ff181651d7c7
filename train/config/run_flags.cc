#include "train/config/run_flags.h"

#include <array>

#include "train/config/flag_value.h"
#include "train/schedule.h"

namespace tidemill::train {
namespace {

constexpr uint8_t kT = 1, kP = 2, kE = 4, kG = 8;  // train, plan, eval, generate
constexpr uint8_t kTP = kT | kP, kTPE = kTP | kE, kAll = kTPE | kG;

struct Row {
  uint8_t kinds;
  FlagSpec spec;
};

constexpr std::string_view kDTypes = "auto|fp32|bf16|fp16|float32|bfloat16|float16";

using enum FlagKind;
constexpr Row kRows[] = {
    {kAll, {"model", kPath, "", "Hugging Face folder: config.json, *.safetensors, tokenizer files"}},
    {kTP, {"train-data", kPaths, "", "training data: .jsonl, .txt or .bin"}},
    {kTPE, {"eval-data", kPath, "", "evaluation data"}},
    {kTP, {"output-dir", kPath, "", "where weights, metrics and checkpoints go"}},
    {kTP, {"config", kPath, "", "JSON file of these flags; flags win over it"}},
    {kTP, {"deepspeed", kPath, "", "a ds_config.json"}},
    {kTPE,
     {"dataset-format", kText, "auto", "what a record of the data is",
      "auto|tokens|text|messages|prompt-completion|alpaca|sharegpt|txt|bin"}},
    {kG, {"prompt", kText, "", "text to continue"}},
    {kG, {"max-new-tokens", kInteger, "128", "stop after this many tokens"}},
    {kG, {"temperature", kNumber, "0", "0: the likeliest token; above: sampling"}},
    {kTP, {"num-train-epochs", kNumber, "3", "passes over the data"}},
    {kTP, {"max-steps", kInteger, "-1", "steps in all, instead of epochs"}},
    {kTP, {"per-device-train-batch-size", kInteger, "1", "sequences of a micro-batch"}},
    {kTP, {"gradient-accumulation-steps", kInteger, "1", "micro-batches of a step"}},
    {kTPE, {"per-device-eval-batch-size", kInteger, "", "sequences of a batch (default: the training's)"}},
    {kTPE, {"max-length", kInteger, "1024", "longer sequences are cut"}},
    {kTP, {"packing", kBool, "false", "several documents in a sequence"}},
    {kTP, {"learning-rate", kNumber, "2e-5", "the highest rate"}},
    {kTP, {"lr-scheduler-type", kText, "linear", "how the rate goes", kScheduleNames}},
    {kTP, {"lr-scheduler-kwargs", kJson, "", "what the schedule needs: min_lr_rate, power, num_decay_steps..."}},
    {kTP, {"warmup-steps", kNumber, "0", "steps of rising rate; below 1 a share of the run"}},
    {kTP, {"warmup-ratio", kNumber, "0", "share of the run, unless --warmup-steps is given"}},
    {kTP, {"weight-decay", kNumber, "0", "decoupled; norms and biases do not decay"}},
    {kTP, {"adam-beta1", kNumber, "0.9", "of AdamW"}},
    {kTP, {"adam-beta2", kNumber, "0.999", "of AdamW"}},
    {kTP, {"adam-epsilon", kNumber, "1e-8", "of AdamW"}},
    {kTP, {"max-grad-norm", kNumber, "1.0", "clip to this global norm; 0: do not clip"}},
    {kTP | kG, {"seed", kInteger, "42", "of the data's order and of sampling"}},
    {kTP, {"shuffle", kBool, "true", "a new order each epoch"}},
    {kAll, {"dtype", kText, "auto", "compute dtype: bf16 on CUDA, fp32 on the CPU", kDTypes}},
    {kTP, {"bf16", kBool, "false", "the same as --dtype bf16"}},
    {kTP, {"fp16", kBool, "false", "the same as --dtype fp16"}},
    {kTP, {"state-dtype", kText, "fp32", "AdamW's moments", "fp32|bf16|int8|float32|bfloat16"}},
    {kTP, {"activation-checkpointing", kBool, "true", "recompute a block in backward", "auto"}},
    {kTP, {"grad-dtype", kText, "auto", "what a finished gradient is rounded to", "auto|fp32|bf16|float32|bfloat16"}},
    {kTP,
     {"master-dtype", kText, "fp32", "master weights; bf16: the parameter, rounded at random",
      "fp32|bf16|float32|bfloat16"}},
    {kTP, {"freeze", kTexts, "", "regular expressions, searched in tensor names: not trained"}},
    {kAll, {"device", kText, "auto", "auto, cpu, cuda, cuda:N or host:mem=SIZE,pcie=RATE,flops=N,..."}},
    {kAll, {"threads", kInteger, "auto", "compute threads of the CPU device", "auto"}},
    {kAll, {"device-memory", kSize, "auto", "hard budget of the device tier", "auto"}},
    {kAll, {"host-memory", kSize, "auto", "hard budget of the host tier", "auto"}},
    {kAll, {"swap-dir", kPaths, "", "folders of the nvme tier; none: no such tier"}},
    {kAll, {"swap-size", kSize, "auto", "budget of the nvme tier, both slots of a page included", "auto"}},
    {kAll, {"place-params", kText, "auto", "home: auto, device, host, nvme or shares (host=0.4,nvme)"}},
    {kTP, {"place-optimizer", kText, "auto", "home of the moments and, in bf16, the rest of the master"}},
    {kTP, {"place-activations", kText, "auto", "home of activations"}},
    {kTP, {"place-gradients", kText, "auto", "home of gradients"}},
    {kAll, {"swap-leftovers", kText, "refuse", "what another, dead run left in a swap folder", "refuse|reclaim"}},
    {kAll, {"io-engine", kText, "auto", "how the swap files are read and written", "auto|io_uring|libaio|posix"}},
    {kAll, {"io-profile", kPath, "", "the file that tune wrote: rates, engine and block size"}},
    {kTP, {"group-size", kInteger, "auto", "micro-batches that use a block while it is here", "auto"}},
    {kTP, {"tile-size", kSize, "auto", "optimizer state that is stepped at a time", "auto"}},
    {kAll, {"prefetch-depth", kInteger, "auto", "blocks fetched ahead", "auto"}},
    {kTP, {"save-dtype", kText, "auto", "dtype of the weights written; auto: the source's", kDTypes}},
    {kTP, {"max-shard-size", kSize, "5GB", "largest weights file written"}},
    {kTP, {"write-budget", kSize, "", "refuse to write more to the drives than this"}},
    {kTP, {"logging-steps", kNumber, "1", "steps between log lines; below 1 a share of the run"}},
    {kTP, {"save-strategy", kText, "steps", "when to write a checkpoint", "steps|epoch|no"}},
    {kTP, {"save-steps", kNumber, "500", "steps between checkpoints; below 1 a share of the run"}},
    {kTP, {"save-total-limit", kInteger, "", "checkpoints kept (default: all)"}},
    {kTP,
     {"eval-strategy", kText, "auto", "when to evaluate; auto: by --eval-steps, else at the end",
      "auto|no|steps|epoch"}},
    {kTP, {"eval-steps", kNumber, "", "steps between evaluations; below 1 a share of the run"}},
    {kTP, {"resume-from-checkpoint", kText, "", "auto: the newest whole one of --output-dir; or a path"}},
    {kTP, {"report-to", kText, "none", "besides metrics.jsonl", "none|tensorboard|csv"}},
    {kTP, {"trace", kPath, "", "write a Perfetto trace of the first steps"}},
    {kP, {"gpu", kText, "", "plan for this card: rtx4090, h100, ..."}},
    {kP, {"flops", kNumber, "", "plan for a device with this speed"}},
    {kP, {"pcie", kText, "", "plan for a link of this rate"}},
    {kP, {"dram", kText, "", "plan for host memory of this rate"}},
    {kP, {"nvme-read", kText, "", "plan for drives of this rate"}},
    {kP, {"nvme-write", kText, "", "plan for drives of this rate"}},
    {kTP, {"world-size", kInteger, "1", "number of ranks"}},
    {kP | kE, {"json", kBool, "false", "print one JSON object"}},
};

constexpr FlagAlias kAliases[] = {
    {"model-name-or-path", "model"},
    {"train-file", "train-data"},
    {"validation-file", "eval-data"},
    {"gradient-checkpointing", "activation-checkpointing"},
    {"evaluation-strategy", "eval-strategy"},
    {"per-gpu-train-batch-size", "per-device-train-batch-size"},
    {"per-gpu-eval-batch-size", "per-device-eval-batch-size"},
    {"max-seq-length", "max-length"},
    {"torch-dtype", "dtype"},
};

struct Unavailable {
  std::string_view flag, values;  // "a|b"; "*": every value; "cuda*": those that begin so
};

// What users of such programs know and this build does not have. Building it deletes its row.
constexpr Unavailable kUnavailable[] = {
    {"deepspeed", "*"},
    {"dataset-format", "messages|prompt-completion|alpaca|sharegpt|bin"},
    {"packing", "true"},
    {"dtype", "fp16|float16"},
    {"fp16", "true"},
    {"activation-checkpointing", "auto"},
    {"device", "cuda*"},
    {"write-budget", "*"},
    {"report-to", "tensorboard|csv"},
    {"trace", "*"},
    {"gpu", "*"},
    {"flops", "*"},
    {"pcie", "*"},
    {"dram", "*"},
    {"nvme-read", "*"},
    {"nvme-write", "*"},
    {"world-size", "*"},
};

std::vector<FlagSpec> RowsOf(uint8_t kinds) {
  std::vector<FlagSpec> specs;
  for (const Row& row : kRows) {
    if ((row.kinds & kinds) != 0) specs.push_back(row.spec);
  }
  return specs;
}

}  // namespace

std::span<const FlagSpec> RunFlags(RunKind kind) {
  static const std::array<std::vector<FlagSpec>, 4> kTables{RowsOf(kT), RowsOf(kP), RowsOf(kE), RowsOf(kG)};
  return kTables[static_cast<size_t>(kind)];
}

std::span<const FlagAlias> RunFlagAliases() { return kAliases; }

Status CheckAvailable(const FlagSpec& spec, std::string_view text) {
  if (spec.kind == FlagKind::kBool && LooksLikeBool(text)) text = *ParseBool(text, spec.name) ? "true" : "false";
  for (const Unavailable& row : kUnavailable) {
    if (row.flag != spec.name) continue;
    const bool prefix = row.values.ends_with('*') && text.starts_with(row.values.substr(0, row.values.size() - 1));
    const bool same_as_default = text == spec.default_text;
    if ((prefix && !same_as_default) || IsChoice(row.values, text))
      return Fail(ErrorCode::kInvalidArgument, "--" + std::string(spec.name) + " is not available in this build" +
                                                   (row.values == "*" ? "" : " with '" + std::string(text) + "'"));
  }
  return Ok();
}

}  // namespace tidemill::train
