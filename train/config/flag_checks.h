// Checks of one flag beyond its kind (flag_value.h): a range, a dtype.
//
//   Errors   kInvalidArgument, naming the flag and what to give.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/dtype.h"
#include "base/result.h"
#include "train/config/flag_set.h"

namespace tidemill::train {

// The value of an integer flag, which must lie within [least, most].
Result<int64_t> WholeFlag(const FlagSet& flags, std::string_view name, int64_t least, int64_t most = int64_t{1} << 30);

// The value of a dtype flag; nothing for "auto".
Result<std::optional<DType>> DTypeFlag(const FlagSet& flags, std::string_view name);

}  // namespace tidemill::train
