// A subcommand: a row of main.cc's table. main parses the flags, answers --help, and turns an Error into the exit
// status.
//
// To add one: a file NAME_command.cc that defines its `const Command kName`, a line in tools/CMakeLists.txt, a line
// here, a line in main.cc's table.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "tools/flags.h"

namespace tidemill::tools {

struct Command {
  std::string_view name;       // "train"; two words for those of a family: "bench adam"
  std::string_view arguments;  // after the name in the usage line: "FILE.gguf --output DIR [flags]"
  std::string_view summary;    // one line
  std::span<const FlagSpec> (*flags)();
  size_t positionals_max = 0;
  // Results go to stdout, words to people to stderr. Called with flags that fit the table.
  Status (*run)(const Flags& flags);
  std::span<const train::FlagAlias> (*aliases)() = nullptr;  // other spellings of its flags, if any
};

}  // namespace tidemill::tools
