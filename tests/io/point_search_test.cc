#include "io/point_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace tidemill::io {
namespace {

// A machine of made-up rates, and what was asked of it.
struct FakeMachine {
  std::vector<double> rates;
  double noise = 0;  // of both signs, in turn, by a fixed sequence
  std::vector<std::pair<size_t, double>> asked = {};
  uint32_t state = 1;

  MeasureCandidate Measure() {
    return [this](size_t candidate, double seconds) -> Result<double> {
      asked.emplace_back(candidate, seconds);
      state = state * 1664525 + 1013904223;
      const double unit = static_cast<double>(state >> 8) / static_cast<double>(1 << 24) * 2 - 1;
      return rates[candidate] * (1 + noise * unit);
    };
  }
};

SearchClock Endless() {
  return {[] { return false; }, [] { return false; }};
}

TEST(FindFastest, FindsTheBestOfMany) {
  FakeMachine machine{.rates = std::vector<double>(36, 1.0)};
  for (size_t i = 0; i < 36; ++i) machine.rates[i] = 1 + 0.01 * static_cast<double>(i * 7 % 36);
  const auto outcome = FindFastest(36, 0, {}, Endless(), machine.Measure()).value();
  const auto best = std::max_element(machine.rates.begin(), machine.rates.end()) - machine.rates.begin();
  EXPECT_EQ(outcome.finalists[0].candidate, static_cast<size_t>(best));
  EXPECT_TRUE(outcome.above_noise);
  EXPECT_EQ(outcome.measured, 36U);
  EXPECT_EQ(outcome.finalists[outcome.reference].candidate, 0U);
}

TEST(FindFastest, MeasuresSurvivorsTwiceAsLongAndHalfAsMany) {
  FakeMachine machine{.rates = std::vector<double>(32, 1.0)};
  for (size_t i = 0; i < 32; ++i) machine.rates[i] = static_cast<double>(i + 1);
  const SearchPlan plan{.finalists = 4, .final_rounds = 5, .first_seconds = 1, .final_seconds = 100};
  ASSERT_TRUE(FindFastest(32, 31, plan, Endless(), machine.Measure()));
  std::map<double, size_t> per_length;
  for (const auto& [candidate, seconds] : machine.asked) ++per_length[seconds];
  EXPECT_EQ(per_length, (std::map<double, size_t>{{1, 32}, {2, 16}, {4, 8}, {100, 20}}));
}

TEST(FindFastest, NeighbouringRoundsGoInOppositeOrder) {
  FakeMachine machine{.rates = {8, 7, 6, 5, 4, 3, 2, 1}};
  const SearchPlan plan{.finalists = 2, .final_rounds = 3};
  ASSERT_TRUE(FindFastest(8, 0, plan, Endless(), machine.Measure()));
  std::vector<size_t> order;
  for (const auto& [candidate, seconds] : machine.asked) order.push_back(candidate);
  EXPECT_EQ(order, (std::vector<size_t>{0, 1, 2, 3, 4, 5, 6, 7, 3, 2, 1, 0, 0, 1, 1, 0, 0, 1}));
}

TEST(FindFastest, KeepsTheReferenceWhereNothingIsBetterThanNoise) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    FakeMachine machine{.rates = std::vector<double>(24, 1.0), .noise = 0.2, .state = seed};
    const SearchPlan plan{.final_rounds = 12};
    const auto outcome = FindFastest(24, 5, plan, Endless(), machine.Measure()).value();
    EXPECT_FALSE(outcome.above_noise) << "seed " << seed;
    EXPECT_EQ(outcome.finalists[0].candidate, 5U) << "seed " << seed;
    EXPECT_EQ(outcome.reference, 0U);
    EXPECT_GT(outcome.finalists[0].Spread(), 0.02);
  }
}

TEST(FindFastest, FindsARealDifferenceThroughNoise) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    FakeMachine machine{.rates = std::vector<double>(24, 1.0), .noise = 0.1, .state = seed};
    machine.rates[17] = 1.5;
    const auto outcome = FindFastest(24, 5, {}, Endless(), machine.Measure()).value();
    EXPECT_TRUE(outcome.above_noise) << "seed " << seed;
    EXPECT_EQ(outcome.finalists[0].candidate, 17U) << "seed " << seed;
  }
}

TEST(FindFastest, KeepsTheReferenceWhenTimeIsUpBeforeItCanTell) {
  FakeMachine machine{.rates = std::vector<double>(100, 1.0)};
  machine.rates[3] = 2;
  const SearchClock clock{[&] { return machine.asked.size() >= 10; }, [] { return true; }};
  const auto outcome = FindFastest(100, 50, {}, clock, machine.Measure()).value();
  EXPECT_EQ(outcome.measured, 10U);
  EXPECT_FALSE(outcome.above_noise);
  EXPECT_EQ(outcome.finalists[0].candidate, 50U);
  EXPECT_EQ(outcome.finalists[1].candidate, 3U);
  EXPECT_EQ(outcome.finalists[0].rates.size(), SearchPlan::kFewestTurns);
  for (const Finalist& finalist : outcome.finalists)
    EXPECT_TRUE(finalist.candidate < 10 || finalist.candidate == 50) << finalist.candidate;
}

TEST(FindFastest, TakesOneCandidate) {
  FakeMachine machine{.rates = {1}};
  const auto outcome = FindFastest(1, 0, {}, Endless(), machine.Measure()).value();
  EXPECT_EQ(outcome.finalists.size(), 1U);
  EXPECT_FALSE(outcome.above_noise);
}

TEST(FindFastest, StopsAtTheFirstError) {
  size_t calls = 0;
  const auto outcome = FindFastest(30, 0, {}, Endless(), [&](size_t, double) -> Result<double> {
    if (++calls < 7) return 1.0;
    return Fail(ErrorCode::kInterrupted, "stopped");
  });
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(calls, 7U);
}

TEST(MedianOf, IsTheMiddleOfAnyNumberOfValues) {
  EXPECT_EQ(MedianOf({}), 0);
  EXPECT_EQ(MedianOf({3, 1, 2}), 2);
  EXPECT_EQ(MedianOf({4, 1, 2, 3}), 2.5);
}

TEST(SpreadOf, IsTheDeviationRelativeToTheMean) {
  EXPECT_EQ(SpreadOf({}), 0);
  EXPECT_EQ(SpreadOf({5}), 0);
  EXPECT_NEAR(SpreadOf({9, 11}), 0.1414, 1e-4);
}

}  // namespace
}  // namespace tidemill::io
