#include "data/unicode_class.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace tidemill::data {
namespace {

struct Range {
  uint32_t first;
  uint32_t last;
  uint8_t classes;
};

// clang-format off
constexpr Range kRanges[] = {  // from U+0080 on, ascending; without kSpace
#include "data/unicode_table.inc"
};
// clang-format on

constexpr std::array<uint8_t, 128> AsciiClasses() {
  std::array<uint8_t, 128> classes{};
  for (size_t c = 0; c < classes.size(); ++c) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) classes[c] = kLetter | kWord;
    if (c >= '0' && c <= '9') classes[c] = kNumber | kNumeric | kWord;
    if (c == '_') classes[c] = kWord;
    if (c == ' ' || (c >= 0x09 && c <= 0x0D)) classes[c] = kSpace;
  }
  return classes;
}
constexpr std::array<uint8_t, 128> kAscii = AsciiClasses();

bool IsWideSpace(uint32_t code) {
  return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
         code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

}  // namespace

uint8_t ClassesOf(uint32_t code) {
  if (code < kAscii.size()) return kAscii[code];
  if (IsWideSpace(code)) return kSpace;
  const Range* range = std::upper_bound(std::begin(kRanges), std::end(kRanges), code,
                                        [](uint32_t c, const Range& r) { return c < r.first; });
  if (range == std::begin(kRanges)) return 0;
  --range;
  return code <= range->last ? range->classes : uint8_t{0};
}

}  // namespace tidemill::data
