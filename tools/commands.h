// Every subcommand of this program, one a line; each is defined in NAME_command.cc.
#pragma once

#include "tools/command.h"

namespace tidemill::tools {

extern const Command kInfo;
extern const Command kTokenize;

}  // namespace tidemill::tools
