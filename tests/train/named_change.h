// Reads the smallest change that a refusal names, as its reader would.
#pragma once

#include <optional>
#include <string>

#include "base/byte_size.h"

namespace tidemill::train {

// The size before `what`, "host memory", in the change; nothing if it names none.
inline std::optional<uint64_t> NamedBytes(const std::string& message, const std::string& what) {
  const size_t change = message.find("smallest change that would fit: "), end = message.find(" of " + what, change);
  if (change == std::string::npos || end == std::string::npos) return std::nullopt;
  const size_t unit = message.rfind(' ', end - 1), number = message.rfind(' ', unit - 1) + 1;
  return *ParseByteSize(message.substr(number, end - number));
}

}  // namespace tidemill::train
