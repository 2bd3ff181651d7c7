#include "data/json_line.h"

#include <algorithm>
#include <cstring>

#include "data/json_reading.h"
#include "data/utf8.h"

namespace tidemill::data {
namespace {

const char* Explain(simdjson::error_code error) {
  switch (error) {
    case simdjson::UNCLOSED_STRING:
      return "a string does not end";
    case simdjson::UNESCAPED_CHARS:
      return "a control character stands unescaped in a string";
    case simdjson::STRING_ERROR:
      return "a string has a malformed escape";
    case simdjson::DEPTH_ERROR:
      return "it is nested too deeply";
    case simdjson::CAPACITY:
    case simdjson::MEMALLOC:
      return "it is too long";
    default:
      return "it is malformed or cut short";
  }
}

// The value of the four hexadecimal digits at `at`, or -1.
int HexUnit(std::string_view text, size_t at) {
  if (at + 4 > text.size()) return -1;
  int unit = 0;
  for (const char c : text.substr(at, 4)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

bool IsHigh(int unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool IsLow(int unit) { return unit >= 0xDC00 && unit < 0xE000; }

// Writes \ufffd over each escaped surrogate that is not half of a pair.
void ReplaceLoneSurrogates(std::string& json) {
  for (size_t at = 0; at + 1 < json.size(); ++at) {
    if (json[at] != '\\') continue;
    if (json[at + 1] != 'u') {
      ++at;  // an escaped backslash must not be taken for the start of the next escape
      continue;
    }
    const int unit = HexUnit(json, at + 2);
    const bool pair = IsHigh(unit) && json.compare(at + 6, 2, "\\u") == 0 && IsLow(HexUnit(json, at + 8));
    if (!pair && (IsHigh(unit) || IsLow(unit))) json.replace(at, 6, "\\ufffd");
    at += pair ? 11 : 1;
  }
}

}  // namespace

tl::unexpected<Error> BadLine(const std::string& what, const LinePlace& place, const std::string& advice) {
  return Fail(ErrorCode::kInvalidArgument, what + " (" + place.Text() + "): " + advice);
}

bool IsBlankLine(std::string_view line) { return line.find_first_not_of(" \t\r\n") == std::string_view::npos; }

struct JsonLine::Parsed {
  simdjson::dom::parser parser;
  std::string buffer;
  JsonElement root;

  simdjson::error_code ParseBuffer() {
    buffer.reserve(buffer.size() + simdjson::SIMDJSON_PADDING);
    return parser.parse(buffer.data(), buffer.size(), false).get(root);
  }
};

JsonLine::JsonLine() : parsed_(std::make_unique<Parsed>()) {}
JsonLine::~JsonLine() = default;
JsonLine::JsonLine(JsonLine&&) noexcept = default;
JsonLine& JsonLine::operator=(JsonLine&&) noexcept = default;

Status JsonLine::Parse(std::string_view line, const LinePlace& place) {
  parsed_->buffer = line;
  simdjson::error_code error = parsed_->ParseBuffer();
  if (error == simdjson::UTF8_ERROR) {
    parsed_->buffer = RepairUtf8(line);
    error = parsed_->ParseBuffer();
  }
  if (error == simdjson::STRING_ERROR) {
    ReplaceLoneSurrogates(parsed_->buffer);
    error = parsed_->ParseBuffer();
  }
  if (error == simdjson::SUCCESS) return Ok();
  return BadLine(std::string("no valid JSON, ") + Explain(error), place, "repair or remove the line");
}

bool JsonLine::Has(std::string_view key) const { return parsed_->root.at_key(key).error() == simdjson::SUCCESS; }

std::vector<std::string> JsonLine::Keys() const {
  std::vector<std::string> keys;
  simdjson::dom::object object;
  if (parsed_->root.get(object) != simdjson::SUCCESS) return keys;
  for (const auto [key, value] : object) keys.emplace_back(key);
  return keys;
}

namespace {

Result<JsonElement> ValueAt(const JsonElement& root, std::string_view key, const LinePlace& place) {
  simdjson::dom::object object;
  if (root.get(object) != simdjson::SUCCESS)
    return BadLine("the line is no JSON object", place, "write {\"key\": ...} a line");
  std::optional<JsonElement> found;
  for (const auto [name, value] : object) {
    if (name != key) continue;
    if (found) return BadLine("key '" + std::string(key) + "' is there twice", place, "remove one");
    found = value;
  }
  if (!found) return BadLine("no key '" + std::string(key) + "'", place, "every record needs it");
  return *found;
}

}  // namespace

Result<std::string_view> JsonLine::Text(std::string_view key, const LinePlace& place) const {
  TM_ASSIGN_OR_RETURN(const JsonElement value, ValueAt(parsed_->root, key, place));
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) return text;
  return BadLine("'" + std::string(key) + "' is no string", place, "write it between quotes");
}

Status JsonLine::Integers(std::string_view key, const LinePlace& place, std::vector<int32_t>& out) const {
  JsonElement value = parsed_->root;
  const std::string name = key.empty() ? "the line" : "'" + std::string(key) + "'";
  if (!key.empty()) {
    TM_ASSIGN_OR_RETURN(value, ValueAt(parsed_->root, key, place));
  }
  simdjson::dom::array items;
  if (value.get(items) != simdjson::SUCCESS) return BadLine(name + " is no array", place, "write [1, 2, 3]");
  out.clear();
  for (const JsonElement item : items) {
    int64_t number = 0;
    if (item.get(number) != simdjson::SUCCESS || number < INT32_MIN || number > INT32_MAX) {
      return BadLine("item " + std::to_string(out.size()) + " of " + name + " is no 32-bit integer", place,
                     "write whole numbers");
    }
    out.push_back(static_cast<int32_t>(number));
  }
  return Ok();
}

}  // namespace tidemill::data
