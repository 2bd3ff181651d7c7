#include "gpu/kernels/loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/token_batch.h"

namespace tidemill::gpu {
namespace {

constexpr int64_t kRows = 7, kVocabulary = 1003;

struct Outcome {
  std::vector<float> lse, loss, gradient;  // gradient [rows, vocabulary]
  double loss_sum = 0;
};

std::vector<float> RandomLogits() {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 5);
  std::vector<float> logits(kRows * kVocabulary);
  for (float& l : logits) l = normal(random);
  return logits;
}

const std::vector<int32_t> kTargets = {0, 1002, kIgnoredTarget, 499, 500, 16, 501};

// Both passes over slices of at most `slice` ids.
Outcome BothPasses(const std::vector<float>& logits, int64_t slice, Isa isa, size_t threads, float scale) {
  ThreadTeam team(threads);
  Outcome result{std::vector<float>(kRows), std::vector<float>(kRows), std::vector<float>(logits.size())};
  std::vector<float> sum(kRows);
  const auto cut = [&](int64_t first, int64_t count) {
    std::vector<float> part;
    for (int64_t r = 0; r < kRows; ++r)
      part.insert(part.end(), logits.begin() + r * kVocabulary + first,
                  logits.begin() + r * kVocabulary + first + count);
    return part;
  };
  for (int64_t first = 0; first < kVocabulary; first += slice) {
    const int64_t count = std::min(slice, kVocabulary - first);
    LossStatistics(isa, team, cut(first, count).data(), static_cast<int32_t>(first), count, kTargets.data(),
                   result.lse.data(), sum.data(), result.loss.data(), kRows, first == 0);
  }
  LossFinish(isa, kTargets.data(), result.lse.data(), sum.data(), result.loss.data(), &result.loss_sum, kRows);
  for (int64_t first = 0; first < kVocabulary; first += slice) {
    const int64_t count = std::min(slice, kVocabulary - first);
    auto part = cut(first, count);
    LossGradient(isa, team, part.data(), static_cast<int32_t>(first), count, kTargets.data(), result.lse.data(), scale,
                 kRows);
    for (int64_t r = 0; r < kRows; ++r)
      std::copy_n(part.begin() + r * count, count, result.gradient.begin() + r * kVocabulary + first);
  }
  return result;
}

void ExpectMatches(const std::vector<float>& logits, const Outcome& got, float scale) {
  double total = 0;
  for (size_t r = 0; r < kRows; ++r) {
    const float* const row = logits.data() + r * kVocabulary;
    double sum = 0;
    for (size_t i = 0; i < kVocabulary; ++i) sum += std::exp(static_cast<double>(row[i]));
    const bool counts = kTargets[r] != kIgnoredTarget;
    const double loss = counts ? std::log(sum) - row[kTargets[r]] : 0;
    total += loss;
    EXPECT_NEAR(got.lse[r], std::log(sum), 3e-6);
    EXPECT_NEAR(got.loss[r], loss, 3e-6);
    for (size_t i = 0; i < kVocabulary; ++i) {
      const double p = std::exp(row[i] - std::log(sum)) - (static_cast<int32_t>(i) == kTargets[r] ? 1 : 0);
      ASSERT_NEAR(got.gradient[r * kVocabulary + i], counts ? p * scale : 0, 4e-6) << r << " " << i;
    }
  }
  EXPECT_NEAR(got.loss_sum, total, 1e-5);
}

TEST(Loss, MatchesTheDefinitionInDoublePrecision) {
  const auto logits = RandomLogits();
  ExpectMatches(logits, BothPasses(logits, kVocabulary, CpuIsa(), 2, 0.5F), 0.5F);
}

TEST(Loss, SlicesOfTheVocabularyAddUp) {
  const auto logits = RandomLogits();
  for (const int64_t slice : {1L, 17L, 500L, 512L}) ExpectMatches(logits, BothPasses(logits, slice, CpuIsa(), 2, 1), 1);
}

TEST(Loss, HasTheSameBitsOnEveryInstructionSetAndThreadCount) {
  const auto logits = RandomLogits();
  const Outcome first = BothPasses(logits, 500, CpuIsa(), 1, 0.1F);
  for (const Isa isa : {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512}) {
    if (isa > CpuIsa()) continue;
    const Outcome other = BothPasses(logits, 500, isa, 3, 0.1F);
    EXPECT_EQ(first.lse, other.lse) << IsaName(isa);
    EXPECT_EQ(first.loss, other.loss) << IsaName(isa);
    EXPECT_EQ(first.gradient, other.gradient) << IsaName(isa);
    EXPECT_EQ(first.loss_sum, other.loss_sum) << IsaName(isa);
  }
}

TEST(Loss, HugeLogitsDoNotOverflow) {
  auto logits = RandomLogits();
  for (float& l : logits) l *= 1e30F;
  const Outcome got = BothPasses(logits, 500, CpuIsa(), 1, 1);
  for (const float g : got.gradient) EXPECT_TRUE(std::isfinite(g));
  EXPECT_TRUE(std::isfinite(got.loss_sum));
}

TEST(Loss, NotANumberShowsInTheSum) {
  for (const float bad : {NAN, std::numeric_limits<float>::infinity()}) {
    auto logits = RandomLogits();
    logits[kVocabulary + 600] = bad;
    EXPECT_FALSE(std::isfinite(BothPasses(logits, 500, CpuIsa(), 1, 1).loss_sum));
  }
}

}  // namespace
}  // namespace tidemill::gpu
