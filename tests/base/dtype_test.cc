#include "base/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tidemill {
namespace {

TEST(SplitMaster, IsABijectionOverEveryPattern) {
  // A prime stride visits every residue of both halves; the full 2^32 were run once by hand.
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 65'537 / 16) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    const SplitBits split = SplitMaster(value);
    ASSERT_EQ(std::bit_cast<uint32_t>(JoinMaster(split.param, split.rest)), bits);
  }
}

TEST(SplitMaster, RoundsTiesAwayFromZero) {
  const float tie = std::bit_cast<float>(0x3f808000U);  // halfway between two bf16 values
  EXPECT_EQ(SplitMaster(tie).param, 0x3f81);
  EXPECT_EQ(RoundToBf16Even(tie), 0x3f80);
  EXPECT_EQ(SplitMaster(-tie).param, 0xbf81);
}

TEST(Bf16, RoundsToNearestEvenAndKeepsWhatIsNotANumber) {
  EXPECT_EQ(RoundToBf16Even(1.0F), 0x3f80);
  EXPECT_EQ(RoundToBf16Even(std::bit_cast<float>(0x3f818000U)), 0x3f82);
  EXPECT_EQ(RoundToBf16Even(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(RoundToBf16Even(-std::numeric_limits<float>::infinity()), 0xff80);
  EXPECT_TRUE(std::isnan(Bf16ToFloat(RoundToBf16Even(std::bit_cast<float>(0x7f800001U)))));
}

TEST(F16, EveryHalfSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = F16ToFloat(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(F16ToFloat(RoundToF16Even(value))));
    } else {
      EXPECT_EQ(RoundToF16Even(value), bits);
    }
  }
}

TEST(F16, RoundsToNearestEven) {
  EXPECT_EQ(RoundToF16Even(65519.0F), 0x7bff);
  EXPECT_EQ(RoundToF16Even(65520.0F), 0x7c00);
  EXPECT_EQ(RoundToF16Even(1.0F + 0x1p-11F), 0x3c00);             // tie, to even
  EXPECT_EQ(RoundToF16Even(1.0F + 0x1p-11F + 0x1p-20F), 0x3c01);  // just above it
  EXPECT_EQ(RoundToF16Even(0x1p-25F), 0);                         // tie between 0 and the least subnormal
  EXPECT_EQ(RoundToF16Even(0x1.8p-25F), 1);
}

TEST(DType, NamesAreThoseOfSafetensorsAndTorch) {
  EXPECT_EQ(DTypeFromSafetensorsName("BF16").value(), DType::kBf16);
  EXPECT_EQ(DTypeFromTorchName("torch.bfloat16").value(), DType::kBf16);
  EXPECT_EQ(DTypeFromTorchName("fp16").value(), DType::kF16);
  EXPECT_FALSE(DTypeFromSafetensorsName("F8_E4M3").has_value());
  EXPECT_EQ(SizeOf(DType::kI64), 8U);
}

}  // namespace
}  // namespace tidemill
