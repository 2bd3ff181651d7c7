#include "train/config/flag_set.h"

#include <algorithm>

#include "base/check.h"
#include "train/config/flag_value.h"

namespace tidemill::train {
namespace {

template <typename T>
T Checked(Result<T> value) {
  TM_CHECK(value.has_value());
  return *value;
}

}  // namespace

bool FlagSet::Has(std::string_view name) const {
  return std::any_of(values_.begin(), values_.end(), [&](const FlagValue& value) { return value.name == name; });
}

std::string FlagSet::Text(std::string_view name) const {
  const FlagSpec* spec = FindFlag(table_, name);
  TM_CHECK(spec != nullptr);
  for (auto value = values_.rbegin(); value != values_.rend(); ++value) {
    if (value->name == name) return value->text;
  }
  return std::string(spec->default_text);
}

std::vector<std::string> FlagSet::Texts(std::string_view name) const {
  std::vector<std::string> texts;
  for (const FlagValue& value : values_) {
    if (value.name == name) texts.push_back(value.text);
  }
  return texts;
}

bool FlagSet::Bool(std::string_view name) const { return Checked(ParseBool(Text(name), name)); }
double FlagSet::Number(std::string_view name) const { return Checked(ParseNumber(Text(name), name)); }
int64_t FlagSet::Integer(std::string_view name) const { return Checked(ParseInteger(Text(name), name)); }
uint64_t FlagSet::Bytes(std::string_view name) const { return Checked(ParseSize(Text(name), name)); }

bool FlagSet::IsSet(std::string_view name) const {
  const std::string text = Text(name);
  return !text.empty() && text != "auto";
}

std::optional<int64_t> FlagSet::MaybeInteger(std::string_view name) const {
  return IsSet(name) ? std::optional(Integer(name)) : std::nullopt;
}

std::optional<uint64_t> FlagSet::MaybeBytes(std::string_view name) const {
  return IsSet(name) ? std::optional(Bytes(name)) : std::nullopt;
}

}  // namespace tidemill::train
