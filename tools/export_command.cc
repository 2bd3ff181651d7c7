// `tidemill export`: writes a Hugging Face folder from a checkpoint or a swap directory.
#include "tools/commands.h"
#include "train/jobs.h"

namespace tidemill::tools {
namespace {

constexpr FlagSpec kFlags[] = {
    {"checkpoint", FlagKind::kPath, "", "folder of a checkpoint"},
    {"swap-dir", FlagKind::kPath, "", "swap directory of a dead run: the step that it committed"},
    {"output", FlagKind::kPath, "", "folder to make"},
    {"save-dtype", FlagKind::kText, "auto", "dtype of the weights; auto: the source's",
     "auto|fp32|bf16|fp16|float32|bfloat16|float16"},
    {"max-shard-size", FlagKind::kSize, "5GB", "largest weights file written"},
};
constexpr train::FlagAlias kAliases[] = {
    {"output-dir", "output"}, {"export-dtype", "save-dtype"}, {"resume-from-checkpoint", "checkpoint"}};

Status Run(const Flags& flags) {
  train::ExportOptions options;
  options.checkpoint = flags.Text("checkpoint");
  if (options.checkpoint.empty() && !flags.positionals().empty()) options.checkpoint = flags.positionals()[0];
  options.swap_dir = flags.Text("swap-dir");
  options.output_dir = flags.Text("output");
  if (options.checkpoint.empty() == options.swap_dir.empty())
    return Fail(ErrorCode::kInvalidArgument, "nothing to export, or two things: give --checkpoint or --swap-dir");
  if (options.output_dir.empty()) return Fail(ErrorCode::kInvalidArgument, "no folder to make: give --output");
  if (flags.Text("save-dtype") != "auto") {
    TM_ASSIGN_OR_RETURN(options.save_dtype, DTypeFromTorchName(flags.Text("save-dtype")));
  }
  options.max_shard_bytes = flags.Bytes("max-shard-size");
  return train::Export(options);
}

}  // namespace

const Command kExport{"export",
                      "--checkpoint DIR | --swap-dir DIR --output DIR [flags]",
                      "Make a Hugging Face folder from a checkpoint or a swap directory.",
                      [] { return std::span<const FlagSpec>(kFlags); },
                      1,
                      Run,
                      [] { return std::span<const train::FlagAlias>(kAliases); }};

}  // namespace tidemill::tools
