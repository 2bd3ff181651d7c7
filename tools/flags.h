// The words of a command line, checked against a table of flags.
//
// A parser of our own, because what the flags need is what the packaged one does not do: values that hold commas
// stay whole, one flag may take several words ("--train-data A B"), a truth value may be left out ("--packing") or
// follow ("--shuffle false"), '_' and '-' are the same in names, and the table is shared with the JSON configuration.
//
//   Grammar    --name value, --name=value; a list flag takes words up to the next flag; "--" ends the flags.
//   Repeats    of a flag with one value the last wins; those of a list flag add up.
//   Errors     kInvalidArgument, naming the flag and the nearest known name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "train/config/flag_set.h"

namespace tidemill::tools {

using train::FlagKind;
using train::FlagSpec;

class Flags : public train::FlagSet {
 public:
  // `aliases` are other spellings of the table's names.
  static Result<Flags> Parse(std::span<const FlagSpec> table, std::span<const std::string> words,
                             std::span<const train::FlagAlias> aliases = {});

  bool help() const { return help_; }  // --help or -h was among the words; nothing else was checked
  const std::vector<std::string>& positionals() const { return positionals_; }

 private:
  explicit Flags(std::span<const FlagSpec> table) : FlagSet(table) {}
  // Takes the values of the flag at words[i], and returns the index after them.
  Result<size_t> TakeFlag(std::span<const std::string> words, size_t i, std::span<const train::FlagAlias> aliases);

  std::vector<std::string> positionals_;
  bool help_ = false;
};

}  // namespace tidemill::tools
