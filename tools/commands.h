// Every subcommand of this program, one a line; each is defined in NAME_command.cc.
#pragma once

#include "tools/command.h"

namespace tidemill::tools {

extern const Command kBenchAdam;
extern const Command kBenchIo;
extern const Command kEval;
extern const Command kExport;
extern const Command kGenerate;
extern const Command kImport;
extern const Command kInfo;
extern const Command kPlan;
extern const Command kTokenize;
extern const Command kTrain;
extern const Command kTune;

}  // namespace tidemill::tools
