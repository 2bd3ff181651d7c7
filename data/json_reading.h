// Short words for reading a configuration through simdjson's DOM. For .cc files only: the library's header is large.
//
//   Ownership  everything borrows from the parser.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemill::data {

using JsonElement = simdjson::dom::element;

// The member's value; nothing if `object` is no object, lacks the key, or has null there.
inline std::optional<JsonElement> Member(const JsonElement& object, std::string_view key) {
  JsonElement value;
  if (object.at_key(key).get(value) != simdjson::SUCCESS || value.is_null()) return std::nullopt;
  return value;
}

inline std::optional<std::string_view> StringMember(const JsonElement& object, std::string_view key) {
  const std::optional<JsonElement> value = Member(object, key);
  std::string_view text;
  if (!value || value->get(text) != simdjson::SUCCESS) return std::nullopt;
  return text;
}

inline std::optional<bool> BoolMember(const JsonElement& object, std::string_view key) {
  const std::optional<JsonElement> value = Member(object, key);
  bool flag = false;
  if (!value || value->get(flag) != simdjson::SUCCESS) return std::nullopt;
  return flag;
}

inline std::optional<int64_t> IntMember(const JsonElement& object, std::string_view key) {
  const std::optional<JsonElement> value = Member(object, key);
  int64_t number = 0;
  if (!value || value->get(number) != simdjson::SUCCESS) return std::nullopt;
  return number;
}

}  // namespace tidemill::data
