#include "train/config/config_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "data/json_file.h"
#include "train/config/flag_value.h"
#include "train/config/json_object.h"

namespace tidemill::train {
namespace {

using nlohmann::json;

tl::unexpected<Error> Refuse(std::string message) { return Fail(ErrorCode::kInvalidArgument, std::move(message)); }

// The text that the flag's value would have on the command line, or why this type does not fit.
Result<std::string> TextOf(const FlagSpec& spec, const json& value, const std::string& where) {
  if (value.is_string()) return value.get<std::string>();
  const bool number_fits =
      spec.kind == FlagKind::kInteger || spec.kind == FlagKind::kNumber || spec.kind == FlagKind::kSize;
  if (value.is_number() && number_fits) return value.dump();
  if (value.is_boolean() && (spec.kind == FlagKind::kBool || spec.name == "resume-from-checkpoint"))
    return value.dump();
  if (value.is_object() && spec.kind == FlagKind::kJson) return value.dump();
  const bool wants_bool = spec.kind == FlagKind::kBool, wants_object = spec.kind == FlagKind::kJson;
  return Refuse(where + " is " + value.dump() + ": give " +
                (wants_bool     ? "true or false"
                 : wants_object ? "an object"
                 : number_fits  ? "a number"
                                : "a string"));
}

Status AddValue(const FlagSpec& spec, const json& value, const std::string& where, std::vector<FlagValue>* values) {
  TM_ASSIGN_OR_RETURN(std::string text, TextOf(spec, value, where));
  TM_RETURN_IF_ERROR(CheckFlagText(spec, text, where));
  values->push_back({std::string(spec.name), std::move(text)});
  return Ok();
}

// One value, or the elements of a list. `json_path` and `file` say where it is.
Status AddValues(const FlagSpec& spec, const json& value, const std::string& json_path, const std::string& file,
                 std::vector<FlagValue>* values) {
  const auto where = [&](const std::string& index) { return json_path + index + " (" + file + ")"; };
  if (!value.is_array() || !IsList(spec.kind)) return AddValue(spec, value, where(""), values);
  for (size_t i = 0; i < value.size(); ++i)
    TM_RETURN_IF_ERROR(AddValue(spec, value[i], where("[" + std::to_string(i) + "]"), values));
  return Ok();
}

}  // namespace

Result<std::vector<FlagValue>> ParseConfigText(const std::string& text, const std::string& path,
                                               std::span<const FlagSpec> table, std::span<const FlagAlias> aliases) {
  TM_ASSIGN_OR_RETURN(const json object, ParseJsonObject(text, path, "write {\"flag\": value, ...}"));
  std::vector<FlagValue> values;
  std::set<std::string, std::less<>> seen;
  for (const auto& [key, value] : object.items()) {
    const std::string where = "$." + key + " (" + path + ")";
    std::string name = FoldName(key);
    for (const FlagAlias& alias : aliases) {
      if (alias.alias == name) name = alias.name;
    }
    const FlagSpec* spec = FindFlag(table, name);
    if (spec == nullptr) return Refuse("unknown key " + where + NearestFlagHint(table, name, ""));
    if (spec->name == "config") return Refuse(where + " names another configuration: only a flag can");
    if (!seen.insert(name).second) return Refuse(where + " repeats '" + name + "' in another spelling: keep one");
    if (!value.is_null()) TM_RETURN_IF_ERROR(AddValues(*spec, value, "$." + key, path, &values));
  }
  return values;
}

Result<std::vector<FlagValue>> ReadConfigFile(const std::string& path, std::span<const FlagSpec> table,
                                              std::span<const FlagAlias> aliases) {
  std::ifstream file(path, std::ios::binary);
  // A pipe will do, <(...) of a shell is one: so bytes are counted as they come.
  std::string text(file.good() ? data::kMaxJsonFileBytes + 1 : 0, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (file.bad() || text.empty())
    return Refuse("cannot read the configuration (" + path +
                  "): " + (file.is_open() ? "is it an empty file or a folder?" : std::strerror(errno)));
  if (text.size() > data::kMaxJsonFileBytes)
    return Refuse("the configuration is too long (" + path + "): give a file of JSON");
  return ParseConfigText(text, path, table, aliases);
}

}  // namespace tidemill::train
