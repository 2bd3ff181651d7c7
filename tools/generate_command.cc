// `tidemill generate`: continues a text, printing it as it comes.
#include <cstdio>

#include "tools/commands.h"
#include "train/jobs.h"

namespace tidemill::tools {
namespace {

Status Run(const Flags& flags) {
  TM_ASSIGN_OR_RETURN(const train::GenerateOptions options, train::ParseGenerateOptions(flags));
  TM_RETURN_IF_ERROR(train::Generate(options, [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }));
  std::fputc('\n', stdout);
  return Ok();
}

}  // namespace

const Command kGenerate{"generate",
                        "--model DIR --prompt TEXT [flags]",
                        "Continue a text.",
                        [] { return train::RunFlags(train::RunKind::kGenerate); },
                        0,
                        Run,
                        train::RunFlagAliases};

}  // namespace tidemill::tools
