#include "data/json_file.h"

#include "data/input_file.h"

namespace tidemill::data {

bool NestedTooDeeply(std::string_view json) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string && c == '\\') ++i;  // whatever is escaped, it ends no string
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kMaxJsonNesting) return true;
  }
  return false;
}

Result<std::string> ReadJsonFile(const std::string& path) {
  TM_ASSIGN_OR_RETURN(std::string text, ReadTextFile(path, kMaxJsonFileBytes));
  if (NestedTooDeeply(text))
    return Fail(ErrorCode::kInvalidArgument, "the JSON is nested more than " + std::to_string(kMaxJsonNesting) +
                                                 " deep (" + path + "): this is not the file it should be");
  return text;
}

}  // namespace tidemill::data
