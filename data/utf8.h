// UTF-8, read strictly: what is not UTF-8 becomes U+FFFD, one for each maximal bad subpart (Unicode 15, chapter 3.9,
// table 3-8; the same as Python's errors="replace" and the reference decoder). Overlong forms, surrogates and codes
// above U+10FFFF are bad.
//
//   Threads  pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tidemill::data {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

struct Utf8Step {
  uint32_t code;        // U+FFFD when bad
  uint32_t size_bytes;  // at least 1; when bad, the length of the bad subpart
  bool valid;
  bool cut_short;  // bad only because the text ends here: more bytes could complete it
};

// The character at `at`, which must be inside the text.
Utf8Step ReadUtf8(std::string_view text, size_t at);

// The character that ends just before `at`, which must be > 0, in valid UTF-8.
uint32_t CodeBefore(std::string_view text, size_t at);

bool IsUtf8(std::string_view text);

// A copy with every bad subpart replaced.
std::string RepairUtf8(std::string_view text);

// How many of the last bytes (0 to 3) begin a character that the text does not finish.
size_t UnfinishedTailBytes(std::string_view text);

}  // namespace tidemill::data
