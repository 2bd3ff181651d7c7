// `tidemill train`: fine-tunes a model.
#include "tools/commands.h"
#include "train/jobs.h"

namespace tidemill::tools {
namespace {

Status Run(const Flags& flags) {
  TM_ASSIGN_OR_RETURN(const train::RunConfig config, train::ParseRunConfig(train::RunKind::kTrain, flags));
  return train::Train(config);
}

}  // namespace

const Command kTrain{"train",
                     "--model DIR --train-data FILE... --output-dir DIR [flags]",
                     "Fine-tune a model.",
                     [] { return train::RunFlags(train::RunKind::kTrain); },
                     0,
                     Run,
                     train::RunFlagAliases};

}  // namespace tidemill::tools
