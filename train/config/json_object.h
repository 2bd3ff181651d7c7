// A file that is one JSON object: a run's flags, a profile.
//
//   Errors   kInvalidArgument, naming `path`: nested too deeply, not JSON, no object, a key twice in one object (the
//            outermost keys count as flags do: '-' and '_' are the same).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemill::train {

// `advice` ends the messages: "write {...}".
Result<nlohmann::json> ParseJsonObject(const std::string& text, const std::string& path, std::string_view advice);

}  // namespace tidemill::train
