// The table of the flags of train, plan, eval and generate: one row a flag, used by parsing, help and --config.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "train/config/flag_spec.h"

namespace tidemill::train {

enum class RunKind : uint8_t { kTrain, kPlan, kEval, kGenerate };

// Rows in the order in which the help lists them. Lives as long as the program.
std::span<const FlagSpec> RunFlags(RunKind kind);

// Spellings of other generations of Hugging Face that mean the same.
std::span<const FlagAlias> RunFlagAliases();

// Fails for a flag, or a value of one, that is named in the list of what this build does not have.
Status CheckAvailable(const FlagSpec& spec, std::string_view text);

}  // namespace tidemill::train
