#include "data/gguf_types.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/data/gguf_fixture.h"

namespace tidemill::data {
namespace {

std::vector<float> Values(GgufType type, const std::string& blocks) {
  std::vector<float> values(blocks.size() / BlockOf(type).bytes * BlockOf(type).elements);
  Dequantize(type, std::as_bytes(std::span(blocks)), values);
  return values;
}

// Half-precision patterns: 0x3800 is 0.5, 0x4000 is 2, 0xbc00 is -1, 0x3400 is 0.25.
TEST(GgufTypes, WidensPlainTypes) {
  EXPECT_EQ(Values(GgufType::kF32, RawAll<float>({1.5F, -2})), (std::vector<float>{1.5F, -2}));
  EXPECT_EQ(Values(GgufType::kF16, RawAll<uint16_t>({0x3800, 0xbc00})), (std::vector<float>{0.5F, -1}));
  EXPECT_EQ(Values(GgufType::kBf16, RawAll<uint16_t>({0x3f80, 0xc040})), (std::vector<float>{1, -3}));
}

TEST(GgufTypes, Q80IsASignedByteTimesTheScale) {
  std::string block = Raw(uint16_t{0x3800});
  for (int i = 0; i < 32; ++i) block += static_cast<char>(i == 0 ? -128 : i == 31 ? 127 : i);
  const auto values = Values(GgufType::kQ8_0, block);
  EXPECT_EQ(values[0], -64.0F);
  for (size_t i = 1; i < 31; ++i) EXPECT_EQ(values[i], 0.5F * static_cast<float>(i));
  EXPECT_EQ(values[31], 63.5F);
}

// Byte i holds element i in its low half and element i + 16 in its high half.
std::string Nibbles() {
  std::string bytes;
  for (int i = 0; i < 16; ++i) bytes += static_cast<char>(i | ((15 - i) << 4));
  return bytes;
}

TEST(GgufTypes, Q40IsANibbleLessEightTimesTheScale) {
  const auto values = Values(GgufType::kQ4_0, Raw(uint16_t{0x4000}) + Nibbles());
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(values[i], 2.0F * (static_cast<float>(i) - 8));
    EXPECT_EQ(values[i + 16], 2.0F * (7 - static_cast<float>(i)));
  }
}

TEST(GgufTypes, Q41IsANibbleTimesTheScalePlusTheMinimum) {
  const auto values = Values(GgufType::kQ4_1, Raw(uint16_t{0x3400}) + Raw(uint16_t{0xbc00}) + Nibbles());
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(values[i], 0.25F * static_cast<float>(i) - 1);
    EXPECT_EQ(values[i + 16], 0.25F * (15 - static_cast<float>(i)) - 1);
  }
}

TEST(GgufTypes, EveryBlockHasItsOwnScale) {
  const std::string eights(16, '\x99');  // all nibbles 9: one above Q4_0's zero
  const auto values = Values(GgufType::kQ4_0, Raw(uint16_t{0x3800}) + eights + Raw(uint16_t{0xbc00}) + eights);
  EXPECT_EQ(values[0], 0.5F);
  EXPECT_EQ(values[31], 0.5F);
  EXPECT_EQ(values[32], -1.0F);
  EXPECT_EQ(values[63], -1.0F);
}

TEST(GgufTypes, RefusesOtherEncodingsByName) {
  EXPECT_NE(GgufTypeFromNumber(12).error().message.find("encoding Q4_K"), std::string::npos);
  EXPECT_NE(GgufTypeFromNumber(14).error().message.find("encoding Q6_K"), std::string::npos);
  EXPECT_NE(GgufTypeFromNumber(4).error().message.find("encoding number 4"), std::string::npos);
  EXPECT_NE(GgufTypeFromNumber(4000000000U).error().message.find("encoding number 4000000000"), std::string::npos);
  EXPECT_EQ(GgufTypeFromNumber(30).value(), GgufType::kBf16);
}

}  // namespace
}  // namespace tidemill::data
