#include "data/utf8.h"

#include <algorithm>

#include "base/check.h"

namespace tidemill::data {
namespace {

// What a leading byte asks for: how many bytes in all, and the narrowed range of the second (which is what rules out
// overlong forms, surrogates and codes above U+10FFFF).
struct Lead {
  uint32_t size_bytes;  // 0: not a leading byte
  uint8_t second_min;
  uint8_t second_max;
};

Lead LeadOf(uint8_t byte) {
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

}  // namespace

Utf8Step ReadUtf8(std::string_view text, size_t at) {
  TM_CHECK(at < text.size());
  const auto first = static_cast<uint8_t>(text[at]);
  if (first < 0x80) return {first, 1, true, false};
  const Lead lead = LeadOf(first);
  if (lead.size_bytes == 0) return {0xFFFD, 1, false, false};
  uint32_t code = first & (0x7Fu >> lead.size_bytes);
  for (uint32_t i = 1; i < lead.size_bytes; ++i) {
    if (at + i >= text.size()) return {0xFFFD, i, false, true};
    const auto byte = static_cast<uint8_t>(text[at + i]);
    const uint8_t low = i == 1 ? lead.second_min : uint8_t{0x80};
    const uint8_t high = i == 1 ? lead.second_max : uint8_t{0xBF};
    if (byte < low || byte > high) return {0xFFFD, i, false, false};
    code = code << 6 | (byte & 0x3Fu);
  }
  return {code, lead.size_bytes, true, false};
}

uint32_t CodeBefore(std::string_view text, size_t at) {
  TM_CHECK(at > 0 && at <= text.size());
  size_t start = at - 1;
  while (start > 0 && at - start < 4 && (static_cast<uint8_t>(text[start]) & 0xC0) == 0x80) --start;
  return ReadUtf8(text, start).code;
}

bool IsUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (static_cast<uint8_t>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const Utf8Step step = ReadUtf8(text, at);
    if (!step.valid) return false;
    at += step.size_bytes;
  }
  return true;
}

std::string RepairUtf8(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = ReadUtf8(text, at);
    repaired.append(step.valid ? text.substr(at, step.size_bytes) : kReplacementCharacter);
    at += step.size_bytes;
  }
  return repaired;
}

size_t UnfinishedTailBytes(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<uint8_t>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;
    const Utf8Step step = ReadUtf8(text, text.size() - back);
    return step.cut_short && step.size_bytes == back ? back : 0;
  }
  return 0;
}

}  // namespace tidemill::data
