#include "data/json_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/check.h"

namespace tidemill::data {
namespace {

void AppendEscape(std::string& out, uint32_t unit) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[(unit >> shift) & 15U];
}

// The code point that starts at text[at], which is valid UTF-8; moves `at` to its last byte.
uint32_t DecodeAt(std::string_view text, size_t& at) {
  const auto lead = static_cast<uint8_t>(text[at]);
  const size_t more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
  TM_CHECK(at + more < text.size());
  uint32_t code = lead & (0x3fU >> more);
  for (size_t i = 0; i < more; ++i) code = (code << 6) | (static_cast<uint8_t>(text[++at]) & 0x3fU);
  return code;
}

void AppendAsciiEscape(std::string& out, std::string_view text, size_t& at) {
  const uint32_t code = DecodeAt(text, at);
  if (code < 0x10000) return AppendEscape(out, code);
  AppendEscape(out, 0xd800 + ((code - 0x10000) >> 10));
  AppendEscape(out, 0xdc00 + ((code - 0x10000) & 0x3ff));
}

}  // namespace

void AppendJsonString(std::string& out, std::string_view text, bool ascii) {
  constexpr std::string_view kPlain = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
  out += '"';
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const auto byte = static_cast<uint8_t>(c);
    if (const size_t named = kPlain.find(c); named != std::string_view::npos) {
      out += '\\';
      out += kLetters[named];
    } else if (byte < 0x20 || (ascii && byte == 0x7f)) {
      AppendEscape(out, byte);
    } else if (ascii && byte >= 0x80) {
      AppendAsciiEscape(out, text, at);
    } else {
      out += c;
    }
  }
  out += '"';
}

std::string PythonFloat(double value) {
  TM_CHECK(std::isfinite(value));
  std::array<char, 32> buffer{};
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific).ptr;
  const std::string_view text(buffer.data(), static_cast<size_t>(end - buffer.data()));
  const size_t e = text.find('e');
  int exponent = 0;
  const size_t digits = e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(text.data() + digits, text.data() + text.size(), exponent);
  if (exponent < -4 || exponent >= 16) return std::string(text);  // to_chars writes Python's form here: 1e-05, 1.5e+16
  std::array<char, 64> fixed{};
  const auto stop = std::to_chars(fixed.data(), fixed.data() + fixed.size(), value, std::chars_format::fixed).ptr;
  std::string out(fixed.data(), stop);
  if (out.find('.') == std::string::npos) out += ".0";
  return out;
}

JsonWriter& JsonWriter::Key(std::string_view key) {
  TM_CHECK(!after_key_ && !has_items_.empty());
  BeforeValue();
  AppendJsonString(out_, key, false);
  out_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::Text(std::string_view value) {
  BeforeValue();
  AppendJsonString(out_, value, false);
  return *this;
}

JsonWriter& JsonWriter::Texts(std::string_view key, const std::vector<std::string>& values) {
  Key(key).BeginArray();
  for (const std::string& value : values) Text(value);
  return EndArray();
}

std::string JsonWriter::Finish() {
  TM_CHECK(has_items_.empty() && !after_key_);
  out_ += '\n';
  return std::move(out_);
}

JsonWriter& JsonWriter::Open(char bracket) {
  BeforeValue();
  out_ += bracket;
  has_items_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::Close(char bracket) {
  TM_CHECK(!has_items_.empty() && !after_key_);
  const bool had_items = has_items_.back();
  has_items_.pop_back();
  if (had_items) NewLine();
  out_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::Raw(std::string_view text) {
  BeforeValue();
  out_ += text;
  return *this;
}

// The comma and the line that an item of an open bracket starts with; the value of a key stays on the key's line.
void JsonWriter::BeforeValue() {
  if (std::exchange(after_key_, false) || has_items_.empty()) return;
  if (has_items_.back()) out_ += ',';
  has_items_.back() = true;
  NewLine();
}

void JsonWriter::NewLine() {
  out_ += '\n';
  out_.append(2 * has_items_.size(), ' ');
}

}  // namespace tidemill::data
