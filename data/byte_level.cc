#include "data/byte_level.h"

#include <array>

#include "data/utf8.h"

namespace tidemill::data {
namespace {

constexpr bool StandsForItself(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr uint32_t kFirstShifted = 0x100;
constexpr uint32_t kShifted = 68;

struct Alphabet {
  std::array<uint32_t, 256> code_of_byte{};
  std::array<uint8_t, kShifted> byte_of_shifted{};
};

constexpr Alphabet MakeAlphabet() {
  Alphabet alphabet;
  uint32_t next = kFirstShifted;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    if (StandsForItself(byte)) {
      alphabet.code_of_byte[byte] = byte;
    } else {
      alphabet.byte_of_shifted[next - kFirstShifted] = static_cast<uint8_t>(byte);
      alphabet.code_of_byte[byte] = next++;
    }
  }
  return alphabet;
}
constexpr Alphabet kAlphabet = MakeAlphabet();

}  // namespace

uint32_t ByteLevelCode(uint8_t byte) { return kAlphabet.code_of_byte[byte]; }

std::optional<std::string> ByteLevelBytes(std::string_view token_text) {
  std::string bytes;
  bytes.reserve(token_text.size());
  for (size_t at = 0; at < token_text.size();) {
    const Utf8Step step = ReadUtf8(token_text, at);
    at += step.size_bytes;
    if (step.code < 256 && StandsForItself(step.code)) {
      bytes.push_back(static_cast<char>(step.code));
    } else if (step.code >= kFirstShifted && step.code < kFirstShifted + kShifted) {
      bytes.push_back(static_cast<char>(kAlphabet.byte_of_shifted[step.code - kFirstShifted]));
    } else {
      return std::nullopt;
    }
  }
  return bytes;
}

}  // namespace tidemill::data
