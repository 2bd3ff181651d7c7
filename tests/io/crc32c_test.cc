#include "io/crc32c.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace tidemill::io {
namespace {

uint32_t OfText(std::string_view text, uint32_t before = 0) {
  return Crc32c(std::as_bytes(std::span(text.data(), text.size())), before);
}

// One bit at a time, from the definition: slow and plain.
uint32_t BitByBit(std::span<const std::byte> bytes) {
  uint32_t state = ~0U;
  for (const std::byte byte : bytes) {
    state ^= static_cast<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1U) != 0 ? 0x82f63b78U : 0U);
  }
  return ~state;
}

TEST(Crc32c, HasTheStandardCheckValues) {
  EXPECT_EQ(OfText(""), 0U);
  EXPECT_EQ(OfText("123456789"), 0xe3069283U);
  // RFC 3720 B.4: 32 bytes of zeros, and of ones.
  EXPECT_EQ(Crc32c(std::vector<std::byte>(32, std::byte{0})), 0x8a9136aaU);
  EXPECT_EQ(Crc32c(std::vector<std::byte>(32, std::byte{0xff})), 0x62a8ab43U);
}

TEST(Crc32c, AgreesWithTheDefinitionAtEverySizeAndAddress) {
  std::vector<std::byte> bytes(3000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 2654435761U >> 13);
  for (size_t size = 0; size < 2500; size += size < 300 ? 1 : 97) {
    const auto part = std::span<const std::byte>(bytes).subspan(size % 67, size);
    ASSERT_EQ(Crc32c(part), BitByBit(part)) << size;
  }
}

TEST(Crc32c, GoesOnWhereAPartEnded) {
  EXPECT_EQ(OfText("6789", OfText("12345")), 0xe3069283U);
  EXPECT_EQ(OfText("123456789", OfText("")), 0xe3069283U);
}

TEST(Crc32c, SeesEverySingleBitOfAPage) {
  std::vector<std::byte> page(4096, std::byte{0x5a});
  const uint32_t whole = Crc32c(page);
  for (size_t bit = 0; bit < page.size() * 8; bit += 13) {
    page[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    ASSERT_NE(Crc32c(page), whole) << bit;
    page[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
  }
}

}  // namespace
}  // namespace tidemill::io
