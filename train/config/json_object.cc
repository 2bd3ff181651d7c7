#include "train/config/json_object.h"

#include <set>
#include <vector>

#include "data/json_file.h"
#include "train/config/flag_spec.h"

namespace tidemill::train {

using nlohmann::json;

Result<json> ParseJsonObject(const std::string& text, const std::string& path, std::string_view advice) {
  const auto refuse = [&](const std::string& what, const std::string& action) {
    return Fail(ErrorCode::kInvalidArgument, what + " (" + path + "): " + action);
  };
  if (data::NestedTooDeeply(text)) return refuse("the JSON is nested too deeply", std::string(advice));
  std::vector<std::set<std::string>> keys;
  std::string duplicate;
  // The parser itself would keep the last of two.
  const auto watch = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key) {
      const auto name = parsed.get<std::string>();
      if (!keys.back().insert(keys.size() == 1 ? FoldName(name) : name).second && duplicate.empty()) duplicate = name;
    }
    return true;
  };
  json object;
  try {
    object = json::parse(text, watch);
  } catch (const json::exception& problem) {
    return refuse("not valid JSON", problem.what());
  }
  if (!object.is_object()) return refuse("not a JSON object", std::string(advice));
  if (!duplicate.empty()) return refuse("duplicate key '" + duplicate + "'", "keep one of them");
  return object;
}

}  // namespace tidemill::train
