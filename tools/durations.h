// "5s", "500ms", "2m", "1.5" (seconds if bare), as fio takes them.
#pragma once

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemill::tools {

// Seconds, above 0 and at most a day. kInvalidArgument, naming `flag`, for anything else.
inline Result<double> ParseSeconds(std::string_view flag, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, text.data() + text.size());
  const double scale = unit.empty() || unit == "s" ? 1
                       : unit == "ms"              ? 1e-3
                       : unit == "m"               ? 60
                       : unit == "h"               ? 3600
                                                   : 0;
  const double seconds = value * scale;
  if (error == std::errc() && seconds > 0 && seconds <= 86'400) return seconds;
  return Fail(ErrorCode::kInvalidArgument, std::string(flag) + " '" + std::string(text) +
                                               "' is not a time: give it as 5s, 500ms or 2m, at most a day");
}

}  // namespace tidemill::tools
