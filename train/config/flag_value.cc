#include "train/config/flag_value.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <string>

#include "base/byte_size.h"

namespace tidemill::train {
namespace {

constexpr std::string_view kTrue = "true|yes|on|1", kFalse = "false|no|off|0";

tl::unexpected<Error> Refuse(std::string_view text, std::string_view where, std::string_view wanted) {
  return Fail(ErrorCode::kInvalidArgument,
              std::string(where) + " is '" + std::string(text) + "': give " + std::string(wanted));
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

}  // namespace

bool LooksLikeBool(std::string_view text) { return IsChoice(kTrue, Lower(text)) || IsChoice(kFalse, Lower(text)); }

Result<bool> ParseBool(std::string_view text, std::string_view where) {
  if (!LooksLikeBool(text)) return Refuse(text, where, "true or false");
  return IsChoice(kTrue, Lower(text));
}

Result<double> ParseNumber(std::string_view text, std::string_view where) {
  std::string_view digits = text;
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);  // from_chars takes no plus
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size() || digits.empty() || !std::isfinite(number))
    return Refuse(text, where, "a finite number");
  return number;
}

Result<int64_t> ParseInteger(std::string_view text, std::string_view where) {
  int64_t whole = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (error == std::errc{} && end == text.data() + text.size()) return whole;
  const auto number = ParseNumber(text, where);
  if (!number.has_value() || *number != std::trunc(*number) || std::abs(*number) > 0x1p53)
    return Refuse(text, where, "a whole number");
  return static_cast<int64_t>(*number);
}

Result<uint64_t> ParseSize(std::string_view text, std::string_view where) {
  auto bytes = ParseByteSize(text);
  if (!bytes.has_value())
    return Fail(ErrorCode::kInvalidArgument, std::string(where) + ": " + std::move(bytes.error().message));
  return bytes;
}

Status CheckFlagText(const FlagSpec& spec, std::string_view text, std::string_view where) {
  if (IsChoice(spec.choices, text)) return Ok();
  switch (spec.kind) {
    case FlagKind::kText:
      if (spec.choices.empty()) return Ok();
      return Refuse(text, where, "one of " + ChoicesText(spec.choices));
    case FlagKind::kBool:
      if (LooksLikeBool(text)) return Ok();
      return Refuse(text, where, "true or false" + (spec.choices.empty() ? "" : " or " + ChoicesText(spec.choices)));
    case FlagKind::kInteger:
      TM_RETURN_IF_ERROR(ParseInteger(text, where));
      return Ok();
    case FlagKind::kNumber:
      TM_RETURN_IF_ERROR(ParseNumber(text, where));
      return Ok();
    case FlagKind::kSize:
      TM_RETURN_IF_ERROR(ParseSize(text, where));
      return Ok();
    case FlagKind::kPath:
    case FlagKind::kPaths:
      if (text.empty()) return Refuse(text, where, "a path");
      return Ok();
    case FlagKind::kTexts:
    case FlagKind::kJson:
      return Ok();
  }
  return Ok();
}

}  // namespace tidemill::train
