// `tidemill import`: a GGUF file becomes a Hugging Face folder.
#include <cstdio>

#include "base/byte_size.h"
#include "data/gguf_import.h"
#include "tools/commands.h"

namespace tidemill::tools {
namespace {

constexpr FlagSpec kFlags[] = {
    {"output", FlagKind::kPath, "", "folder to make"},
    {"save-dtype", FlagKind::kText, "bf16", "dtype of the weights, rounded to nearest even",
     "bf16|fp32|fp16|bfloat16|float32|float16"},
    {"max-shard-size", FlagKind::kSize, "5GB", "largest weights file written"},
};
constexpr train::FlagAlias kAliases[] = {{"output-dir", "output"}};

Status Run(const Flags& flags) {
  if (flags.positionals().empty()) return Fail(ErrorCode::kInvalidArgument, "no file to import: give FILE.gguf");
  const std::string output = flags.Text("output");
  if (output.empty()) return Fail(ErrorCode::kInvalidArgument, "no folder to make: give --output");
  TM_ASSIGN_OR_RETURN(const DType dtype, DTypeFromTorchName(flags.Text("save-dtype")));
  TM_ASSIGN_OR_RETURN(const data::GgufImportReport report,
                      data::ImportGguf(flags.positionals()[0], output, dtype, flags.Bytes("max-shard-size")));
  std::printf("%s: %llu parameters in %llu tensors, %s, %llu %s%s\n", output.c_str(),
              static_cast<unsigned long long>(report.parameters), static_cast<unsigned long long>(report.tensors),
              FormatBytes(report.bytes).c_str(), static_cast<unsigned long long>(report.files),
              report.files == 1 ? "file" : "files", report.has_tokenizer ? "" : "; the source has no tokenizer");
  return Ok();
}

}  // namespace

const Command kImport{"import",
                      "FILE.gguf --output DIR [flags]",
                      "Make a Hugging Face folder from GGUF (F32, F16, BF16, Q8_0, Q4_0, Q4_1).",
                      [] { return std::span<const FlagSpec>(kFlags); },
                      1,
                      Run,
                      [] { return std::span<const train::FlagAlias>(kAliases); }};

}  // namespace tidemill::tools
