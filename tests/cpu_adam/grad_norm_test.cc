#include "cpu_adam/grad_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/dtype.h"

namespace tidemill::cpu_adam {
namespace {

std::vector<float> RandomGrad(size_t count) {
  std::mt19937_64 random(count);
  std::normal_distribution<float> normal;
  std::vector<float> grad(count);
  for (float& g : grad) g = normal(random);
  return grad;
}

// The header's words, written down once more.
double InDocumentedOrder(const std::vector<float>& grad) {
  double total = 0;
  for (size_t begin = 0; begin < grad.size(); begin += 4096) {
    double lane[16] = {};
    for (size_t i = begin; i < std::min(grad.size(), begin + 4096); ++i)
      lane[(i - begin) % 16] += double{grad[i]} * double{grad[i]};
    for (size_t half = 8; half > 0; half /= 2) {
      for (size_t l = 0; l < half; ++l) lane[l] += lane[l + half];
    }
    total += lane[0];
  }
  return total;
}

TEST(GradNorm, KeepsTheDocumentedOrderOnEveryInstructionSetAndThreadCount) {
  ThreadTeam two(2), seven(7);
  for (const size_t count : {1UL, 15UL, 16UL, 17UL, 4095UL, 4096UL, 4097UL, 100'003UL}) {
    const auto grad = RandomGrad(count + 3);
    for (size_t offset = 0; offset < 3; ++offset) {
      const double expected = InDocumentedOrder({grad.begin() + static_cast<std::ptrdiff_t>(offset),
                                                 grad.begin() + static_cast<std::ptrdiff_t>(offset + count)});
      const GradView view = Fp32Grad{grad.data() + offset};
      for (const Isa isa : SupportedIsas()) {
        EXPECT_EQ(SumOfSquares(view, count, isa), expected) << IsaName(isa) << " " << count;
        EXPECT_EQ(SumOfSquares(view, count, two, isa), expected);
        EXPECT_EQ(SumOfSquares(view, count, seven, isa), expected);
      }
    }
  }
}

TEST(GradNorm, BeyondOneRoundOfChunksTheOrderIsTheSame) {
  const auto grad = RandomGrad(4096UL * 4096 + 12345);
  ThreadTeam two(2);
  EXPECT_EQ(SumOfSquares(Fp32Grad{grad.data()}, grad.size(), two), InDocumentedOrder(grad));
}

TEST(GradNorm, ABf16GradientCountsAsTheFloatsItStandsFor) {
  auto grad = RandomGrad(9001);
  std::vector<uint16_t> half(grad.size());
  for (size_t i = 0; i < grad.size(); ++i) {
    half[i] = RoundToBf16Even(grad[i]);
    grad[i] = Bf16ToFloat(half[i]);
  }
  for (const Isa isa : SupportedIsas())
    EXPECT_EQ(SumOfSquares(Bf16Grad{half.data()}, half.size(), isa), InDocumentedOrder(grad)) << IsaName(isa);
}

TEST(GradNorm, OneBadElementAnywhereIsFound) {
  ThreadTeam team(2);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    for (const size_t at : {0UL, 17UL, 4096UL, 10'000UL}) {
      auto grad = RandomGrad(10'001);
      grad[at] = bad;
      EXPECT_FALSE(std::isfinite(SumOfSquares(Fp32Grad{grad.data()}, grad.size(), team))) << at;
    }
  }
}

TEST(GradNorm, TheLargestFloatsAreStillFinite) {
  ThreadTeam team(2);
  const std::vector<float> grad(100'000, std::numeric_limits<float>::max());
  EXPECT_TRUE(std::isfinite(SumOfSquares(Fp32Grad{grad.data()}, grad.size(), team)));
  EXPECT_EQ(SumOfSquares(Fp32Grad{nullptr}, 0, team), 0);
}

}  // namespace
}  // namespace tidemill::cpu_adam
