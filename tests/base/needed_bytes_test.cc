#include "base/needed_bytes.h"

#include <gtest/gtest.h>

#include "base/byte_size.h"

namespace tidemill {
namespace {

TEST(FormatNeeded, ReadsBackAsAtLeastTheSameAndLittleMore) {
  EXPECT_EQ(FormatNeeded(17), "17 B");
  EXPECT_EQ(FormatNeeded(512 * kMiB), "512 MiB");
  EXPECT_EQ(FormatNeeded(kMiB + 1), "1.01 MiB");
  EXPECT_EQ(FormatNeeded(kMiB - 1), "1.00 MiB");
  for (uint64_t bytes = 1; bytes < (uint64_t{1} << 52); bytes = bytes * 5 / 3 + 4095) {
    const uint64_t read = ParseByteSize(FormatNeeded(bytes)).value();
    EXPECT_GE(read, bytes);
    EXPECT_LE(static_cast<double>(read), static_cast<double>(bytes) * 1.011);
  }
}

}  // namespace
}  // namespace tidemill
