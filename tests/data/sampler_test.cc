#include "data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace tidemill::data {
namespace {

using Batches = std::vector<std::vector<uint32_t>>;

TEST(Sampler, CutsAnEpochIntoWindowsAndKeepsTheShortOnes) {
  Sampler sampler({.records = 7, .micro_batch_size = 2, .accumulation_steps = 3, .shuffle = false});
  EXPECT_EQ(sampler.BatchesPerEpoch(), 4u);
  EXPECT_EQ(sampler.StepsPerEpoch(), 2u);
  const Window first = sampler.WindowOf(0);
  EXPECT_EQ(first.micro_batches, (Batches{{0, 1}, {2, 3}, {4, 5}}));
  EXPECT_FALSE(first.ends_epoch);
  const Window second = sampler.WindowOf(1);
  EXPECT_EQ(second.micro_batches, (Batches{{6}}));
  EXPECT_TRUE(second.ends_epoch);
  EXPECT_EQ(sampler.WindowOf(2).epoch, 1u);
  EXPECT_EQ(sampler.WindowOf(2).micro_batches, first.micro_batches);
}

TEST(Sampler, CountsStepsAsHuggingFaceTrainerDoes) {
  struct Case {
    uint64_t records, batch, accumulation, steps;
  };
  for (const Case& each : {Case{1, 4, 8, 1}, {8, 1, 4, 2}, {9, 1, 4, 3}, {10, 4, 2, 2}, {1000, 7, 3, 48}}) {
    Sampler sampler({.records = each.records, .micro_batch_size = each.batch, .accumulation_steps = each.accumulation});
    EXPECT_EQ(sampler.StepsPerEpoch(), each.steps);
    EXPECT_EQ(sampler.StepsOf(3), 3 * each.steps);
  }
  Sampler sampler({.records = 10, .micro_batch_size = 2, .accumulation_steps = 2});
  EXPECT_EQ(sampler.StepsOf(0.5), 2u);  // 1.5 steps
  EXPECT_EQ(sampler.StepsOf(1.2), 4u);
}

TEST(Sampler, EpochsRunInMicroBatchesAndAreWholeAtTheirEnds) {
  Sampler sampler({.records = 10, .micro_batch_size = 2, .accumulation_steps = 2});  // 5 batches, 3 steps
  EXPECT_DOUBLE_EQ(sampler.EpochsAfter(0), 0.0);
  EXPECT_DOUBLE_EQ(sampler.EpochsAfter(1), 0.4);
  EXPECT_DOUBLE_EQ(sampler.EpochsAfter(2), 0.8);
  EXPECT_DOUBLE_EQ(sampler.EpochsAfter(3), 1.0);
  EXPECT_DOUBLE_EQ(sampler.EpochsAfter(4), 1.4);
}

TEST(Sampler, EveryEpochHasEveryRecordOnce) {
  Sampler sampler({.records = 101, .micro_batch_size = 4, .accumulation_steps = 5});
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<uint32_t> seen;
    for (uint64_t i = 0; i < sampler.StepsPerEpoch(); ++i) {
      const Window window = sampler.WindowOf(epoch * sampler.StepsPerEpoch() + i);
      EXPECT_EQ(window.epoch, epoch);
      for (const auto& batch : window.micro_batches) seen.insert(seen.end(), batch.begin(), batch.end());
    }
    std::sort(seen.begin(), seen.end());
    std::vector<uint32_t> all(101);
    std::iota(all.begin(), all.end(), 0u);
    EXPECT_EQ(seen, all);
  }
}

TEST(Sampler, AStepsRecordsDependOnItsNumberAlone) {
  const SamplerOptions options{.records = 50, .micro_batch_size = 3, .accumulation_steps = 2, .seed = 7};
  Sampler straight(options);
  for (uint64_t step = 0; step < 30; ++step) {
    Sampler resumed(options);
    EXPECT_EQ(straight.WindowOf(step).micro_batches, resumed.WindowOf(step).micro_batches);
  }
}

// The documented generator gives these; another order would break the resuming of old runs.
TEST(Sampler, OrdersAreThoseOfTheDocumentedGenerator) {
  EXPECT_EQ(Sampler::OrderOf({.records = 8, .seed = 42}, 0), (std::vector<uint32_t>{4, 2, 5, 1, 7, 0, 6, 3}));
  EXPECT_EQ(Sampler::OrderOf({.records = 8, .seed = 42}, 1), (std::vector<uint32_t>{6, 1, 3, 7, 5, 2, 0, 4}));
  EXPECT_EQ(Sampler::OrderOf({.records = 8, .seed = 43}, 0), (std::vector<uint32_t>{5, 6, 1, 2, 7, 0, 3, 4}));
  EXPECT_EQ(Sampler::OrderOf({.records = 1, .seed = 42}, 0), std::vector<uint32_t>{0});
}

TEST(Sampler, EveryRecordComesFirstAboutEquallyOften) {
  constexpr int kEpochs = 6000;
  std::vector<int> firsts(6, 0);
  for (uint64_t epoch = 0; epoch < kEpochs; ++epoch) ++firsts[Sampler::OrderOf({.records = 6}, epoch)[0]];
  for (const int count : firsts) EXPECT_NEAR(count, kEpochs / 6, 150);  // five standard deviations
}

}  // namespace
}  // namespace tidemill::data
