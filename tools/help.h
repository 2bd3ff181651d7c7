// What --help prints. Every line comes from the tables of flags and of commands.
#pragma once

#include <span>
#include <string>

#include "tools/command.h"

namespace tidemill::tools {

// The usage line, the summary, then for every flag: name, what it takes, default, help. At most 100 columns.
std::string CommandHelp(const Command& command);

// All commands with their summaries; only those of one family ("bench") if `family` is not empty.
std::string ProgramHelp(std::span<const Command* const> commands, std::string_view family);

}  // namespace tidemill::tools
