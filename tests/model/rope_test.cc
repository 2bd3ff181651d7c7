#include "model/rope.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tidemill::model {
namespace {

TEST(InverseFrequencies, OfLlama3AreThoseOfTheReference) {
  const RopeConfig plain{.theta = 500000};
  const RopeConfig scaled{.type = RopeConfig::Type::kLlama3,
                          .theta = 500000,
                          .factor = 32,
                          .low_freq_factor = 1,
                          .high_freq_factor = 4,
                          .original_max_positions = 8192};
  const auto base = InverseFrequencies(plain, 64), f = InverseFrequencies(scaled, 64);
  ASSERT_EQ(f.size(), 32U);
  for (size_t i = 0; i < 15; ++i) EXPECT_EQ(f[i], base[i]) << i;
  EXPECT_NEAR(f[15] / 1.29054793e-3, 1, 1e-6);
  EXPECT_NEAR(f[16] / 4.29556797e-4, 1, 1e-6);
  EXPECT_NEAR(f[17] / 9.7082878e-5, 1, 1e-6);
  for (size_t i = 18; i < 32; ++i) EXPECT_EQ(f[i], base[i] / 32) << i;
}

TEST(InverseFrequencies, OfLinearScalingAreDivided) {
  const auto base = InverseFrequencies({}, 16);
  const auto f = InverseFrequencies({.type = RopeConfig::Type::kLinear, .factor = 4}, 16);
  for (size_t i = 0; i < f.size(); ++i) EXPECT_EQ(f[i], base[i] / 4);
  for (size_t i = 0; i < f.size(); ++i)
    EXPECT_NEAR(base[i], std::pow(10000.0, -2.0 * static_cast<double>(i) / 16), 1e-7 * base[i]);
}

TEST(RopeTables, HoldTheAnglesOfEachPosition) {
  const auto f = InverseFrequencies({}, 8);
  std::vector<float> cosines(5000 * f.size()), sines(cosines.size());
  FillRopeTables(f, cosines, sines);
  for (const size_t position : {0U, 1U, 77U, 4999U})
    for (size_t i = 0; i < f.size(); ++i) {
      const double angle = static_cast<float>(position) * f[i];
      EXPECT_NEAR(cosines[position * f.size() + i], std::cos(angle), 1e-7);
      EXPECT_NEAR(sines[position * f.size() + i], std::sin(angle), 1e-7);
    }
}

}  // namespace
}  // namespace tidemill::model
