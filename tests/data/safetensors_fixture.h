// Safetensors files put together by hand: any header, any payload, right or wrong.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "data/safetensors_reader.h"
#include "tests/base/file_fixture.h"

namespace tidemill::data {

// The 8 bytes of length that a header starts with.
inline std::string LengthBytes(uint64_t length) {
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes;
}

inline std::string FileOf(std::string_view header, std::string_view payload) {
  return LengthBytes(header.size()) + std::string(header) + std::string(payload);
}

class SafetensorsTest : public FileTest {
 protected:
  // What Open() says about a file of these bytes, or "" when it takes them.
  std::string Refusal(std::string_view contents) const {
    const auto reader = SafetensorsReader::Open(Write("hostile.safetensors", contents));
    if (reader.has_value()) return "";
    EXPECT_EQ(reader.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(reader.error().message.find("hostile.safetensors"), std::string::npos) << reader.error().message;
    return reader.error().message;
  }
};

}  // namespace tidemill::data
