#include "train/config/flag_checks.h"

#include <string>

namespace tidemill::train {

Result<int64_t> WholeFlag(const FlagSet& flags, std::string_view name, int64_t least, int64_t most) {
  const int64_t value = flags.Integer(name);
  if (value >= least && value <= most) return value;
  return Fail(ErrorCode::kInvalidArgument, "--" + std::string(name) + " is " + std::to_string(value) + ": give " +
                                               std::to_string(least) + " to " + std::to_string(most));
}

Result<std::optional<DType>> DTypeFlag(const FlagSet& flags, std::string_view name) {
  const std::string text = flags.Text(name);
  if (text == "auto") return std::optional<DType>();
  TM_ASSIGN_OR_RETURN(const DType dtype, DTypeFromTorchName(text));
  return std::optional(dtype);
}

}  // namespace tidemill::train
