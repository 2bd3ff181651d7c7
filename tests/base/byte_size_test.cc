#include "base/byte_size.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(ByteSize, TakesDecimalAndBinaryUnits) {
  EXPECT_EQ(ParseByteSize("8GiB").value(), 8 * kGiB);
  EXPECT_EQ(ParseByteSize("8GB").value(), 8'000'000'000U);
  EXPECT_EQ(ParseByteSize("512 mib").value(), 512 * kMiB);
  EXPECT_EQ(ParseByteSize("1e9").value(), 1'000'000'000U);
  EXPECT_EQ(ParseByteSize("1.5KiB").value(), 1536U);
  EXPECT_EQ(ParseByteSize("0").value(), 0U);
}

TEST(ByteSize, RefusesWhatIsNotASize) {
  for (const char* text : {"", "GiB", "8XB", "-1", "nan", "inf", "1e30", "0.5", "8GiB/s", "8G iB x"})
    EXPECT_FALSE(ParseByteSize(text).has_value()) << text;
}

TEST(ByteRate, TakesAnOptionalPerSecond) {
  EXPECT_DOUBLE_EQ(ParseByteRate("2GB/s").value(), 2e9);
  EXPECT_DOUBLE_EQ(ParseByteRate("500MB").value(), 5e8);
  EXPECT_DOUBLE_EQ(ParseByteRate("50e9").value(), 50e9);
}

TEST(FormatBytes, HasThreeDigitsAndAUnit) {
  EXPECT_EQ(FormatBytes(17), "17 B");
  EXPECT_EQ(FormatBytes(3 * kGiB + kGiB / 2), "3.50 GiB");
  EXPECT_EQ(FormatBytes(512 * kMiB), "512 MiB");
}

}  // namespace
}  // namespace tidemill
