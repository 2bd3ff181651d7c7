// --config FILE: a JSON object of flags, {"learning_rate": 1e-4, "train_data": ["a.jsonl", "b.jsonl"]}.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "train/config/flag_spec.h"

namespace tidemill::train {

// Every value as the text that the flag would have had; null counts as absent. '-' and '_' are the same in keys.
// Errors name the file and the JSON path: unknown and duplicate keys, values of the wrong type, broken JSON.
Result<std::vector<FlagValue>> ReadConfigFile(const std::string& path, std::span<const FlagSpec> table,
                                              std::span<const FlagAlias> aliases);

// The same of a text; `path` is for the errors.
Result<std::vector<FlagValue>> ParseConfigText(const std::string& text, const std::string& path,
                                               std::span<const FlagSpec> table, std::span<const FlagAlias> aliases);

}  // namespace tidemill::train
