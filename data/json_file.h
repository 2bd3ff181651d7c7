// Small JSON files that people and other programs write: bounded in length and in nesting, before a parser sees them.
//
//   Errors   as InputFile; kInvalidArgument, naming the file, for one that is too long or nested too deeply.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemill::data {

constexpr uint64_t kMaxJsonFileBytes = 16 << 20;
constexpr int kMaxJsonNesting = 64;

// Whether brackets stand more than kMaxJsonNesting deep. A parser's tree, copied or printed, would overflow the stack.
bool NestedTooDeeply(std::string_view json);

// The text of a regular file of at most kMaxJsonFileBytes. Never waits, as opening a pipe would.
Result<std::string> ReadJsonFile(const std::string& path);

}  // namespace tidemill::data
