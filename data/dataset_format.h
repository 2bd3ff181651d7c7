// What a data file holds: one of the formats of --dataset-format.
//
//   tokens ({"input_ids"}), text, txt                             read by this build
//   messages, prompt-completion, alpaca, sharegpt, bin            known, and refused by name
//
//   Errors  kInvalidArgument, naming the file and the keys it has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemill::data {

enum class DatasetFormat { kInputIds, kText, kPlainText };

// The format that `name` names (see DatasetOptions::format), or with "auto": by the file's ending (.txt, .bin), else by
// the keys of its first record.
Result<DatasetFormat> FormatOf(const std::string& path, const std::string& name);

}  // namespace tidemill::data
