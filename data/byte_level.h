// The byte-level alphabet of GPT-2: each of the 256 bytes is written as one printable character, so that a vocabulary
// of byte strings can be kept as text. Printable Latin-1 bytes stand for themselves; the other 68, in ascending order,
// are U+0100 and on (a space is U+0120).
//
//   Threads  pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tidemill::data {

// The character that stands for a byte.
uint32_t ByteLevelCode(uint8_t byte);

// The bytes that a token's text spells, or nothing when a character of it is outside the alphabet (an added token with
// a space or an emoji in it, say; such a token stands for its own UTF-8).
std::optional<std::string> ByteLevelBytes(std::string_view token_text);

}  // namespace tidemill::data
