#include "gpu/kernels/vector_math.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tidemill::gpu::TM_ISA {
namespace {

// Distance in units of the last place of the float nearest to `exact`.
double Ulps(float value, double exact) {
  const int exponent = std::max(-126, std::ilogb(exact));
  return std::fabs(static_cast<double>(value) - exact) / std::ldexp(1.0, exponent - 23);
}

TEST(VectorMath, ExpIsWithinAboutOneUlp) {
  for (float x = -103.0F; x < 88.7F; x += 0.00713F)
    ASSERT_LT(Ulps(Exp(x), std::exp(static_cast<double>(x))), 1.02) << x;
}

TEST(VectorMath, ExpHandlesItsEnds) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Exp(0.0F), 1.0F);
  EXPECT_EQ(Exp(-kInfinity), 0.0F);
  EXPECT_EQ(Exp(-1e30F), 0.0F);
  EXPECT_EQ(Exp(88.8F), kInfinity);
  EXPECT_EQ(Exp(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(Exp(std::numeric_limits<float>::quiet_NaN())));
}

TEST(VectorMath, LogIsWithinOneUlpFromTheLeastSubnormalOn) {
  for (uint32_t bits = 1; bits < 0x7f800000U; bits += 10'007) {
    const auto x = std::bit_cast<float>(bits);
    ASSERT_LT(Ulps(Log(x), std::log(static_cast<double>(x))), 1.0) << x;
  }
}

TEST(VectorMath, LogHandlesItsEnds) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Log(1.0F), 0.0F);
  EXPECT_EQ(Log(0.0F), -kInfinity);
  EXPECT_EQ(Log(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(Log(-1.0F)));
  EXPECT_TRUE(std::isnan(Log(std::numeric_limits<float>::quiet_NaN())));
}

TEST(VectorMath, LanesHaveTheBitsOfTheScalar) {
  for (uint32_t start = 0; start < 0xff000000U; start += 0x00123457U) {
    F16 x{};
    for (int i = 0; i < 16; ++i) x[i] = std::bit_cast<float>(start + static_cast<uint32_t>(i) * 0x10007U);
    const F16 e = Exp(x), l = Log(x);
    for (int i = 0; i < 16; ++i) {
      if (std::isnan(x[i])) continue;
      ASSERT_EQ(std::bit_cast<uint32_t>(float{e[i]}), std::bit_cast<uint32_t>(Exp(float{x[i]}))) << x[i];
      if (x[i] >= 0) {
        ASSERT_EQ(std::bit_cast<uint32_t>(float{l[i]}), std::bit_cast<uint32_t>(Log(float{x[i]}))) << x[i];
      }
    }
  }
}

}  // namespace
}  // namespace tidemill::gpu::TM_ISA
