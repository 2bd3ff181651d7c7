// The text of one flag's value as a number, a truth value or a size.
//
//   Errors   kInvalidArgument, naming `where`: "--learning-rate", or a path in a configuration file.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "train/config/flag_spec.h"

namespace tidemill::train {

// true, false, yes, no, on, off, 1, 0 in any case.
bool LooksLikeBool(std::string_view text);
Result<bool> ParseBool(std::string_view text, std::string_view where);

// Finite; "1e-5", ".9", "-1".
Result<double> ParseNumber(std::string_view text, std::string_view where);

// Whole and exactly representable; "5e8" is a whole number, "1.5" is not.
Result<int64_t> ParseInteger(std::string_view text, std::string_view where);

Result<uint64_t> ParseSize(std::string_view text, std::string_view where);

// Whether `text` is one of the row's choices or has the row's kind.
Status CheckFlagText(const FlagSpec& spec, std::string_view text, std::string_view where);

}  // namespace tidemill::train
