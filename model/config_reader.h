// Reads keys of a JSON object with the messages that config.json deserves. For config*.cc only.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemill::model {

class ConfigReader {
 public:
  ConfigReader(const nlohmann::json& object, std::string where) : object_(object), where_(std::move(where)) {}

  // Null where the key is absent or null.
  const nlohmann::json* Find(std::string_view key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  bool Has(std::string_view key) const { return object_.find(key) != object_.end(); }

  tl::unexpected<Error> Wrong(std::string_view key, const std::string& what) const {
    return Fail(ErrorCode::kInvalidArgument, std::string(key) + " " + what + " (" + where_ + ")");
  }
  tl::unexpected<Error> Unsupported(std::string_view key, const nlohmann::json& value, const char* supported) const {
    return Fail(ErrorCode::kInvalidArgument, std::string(key) + " = " + Text(value) + " is not supported (" + where_ +
                                                 "): use a model with " + supported);
  }

  // A size from 1 to 2^31 - 1.
  Result<int64_t> Size(std::string_view key) const {
    const nlohmann::json* const value = Find(key);
    if (value == nullptr) return Wrong(key, "is missing");
    return SizeOf(key, *value);
  }
  Result<int64_t> Size(std::string_view key, int64_t absent) const {
    const nlohmann::json* const value = Find(key);
    return value == nullptr ? Result<int64_t>(absent) : SizeOf(key, *value);
  }
  Result<double> Number(std::string_view key) const {
    const nlohmann::json* const value = Find(key);
    if (value == nullptr) return Wrong(key, "is missing");
    if (!value->is_number() || !std::isfinite(value->get<double>())) return Wrong(key, "is not a number");
    return value->get<double>();
  }
  Result<double> Number(std::string_view key, double absent) const {
    return Find(key) == nullptr ? Result<double>(absent) : Number(key);
  }
  Result<bool> Flag(std::string_view key, bool absent) const {
    const nlohmann::json* const value = Find(key);
    if (value == nullptr) return absent;
    if (!value->is_boolean()) return Wrong(key, "is neither true nor false");
    return value->get<bool>();
  }

  const std::string& where() const { return where_; }

 private:
  static std::string Text(const nlohmann::json& value) {
    std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    if (text.size() > 80) text = text.substr(0, 77) + "...";
    return text;
  }
  Result<int64_t> SizeOf(std::string_view key, const nlohmann::json& value) const {
    const bool whole = value.is_number_integer() && value.is_number_unsigned() ? value.get<uint64_t>() <= INT32_MAX
                                                                               : value.is_number_integer();
    if (!whole || value.get<int64_t>() < 1 || value.get<int64_t>() > INT32_MAX)
      return Wrong(key, "= " + Text(value) + " is not a size from 1 to 2147483647");
    return value.get<int64_t>();
  }

  const nlohmann::json& object_;
  std::string where_;
};

// rope_parameters (transformers 5), or rope_theta with rope_scaling (4).
struct RopeConfig;
Result<RopeConfig> ParseRope(const ConfigReader& reader);

}  // namespace tidemill::model
