// How few bytes the planner moves, against brute force over all that could be kept.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/fakes/programs.h"

namespace tidemill::swap_scheduler {
namespace {

struct Step {
  PageId page;
  bool written;
};

// The fewest bytes over the link for device operations that use one page each, pages resting in host memory: every
// page that is not kept is fetched, every written one goes home once. Pages do not have to lie in one piece.
uint64_t FewestUnits(const std::vector<uint64_t>& units, const std::vector<Step>& steps, uint64_t capacity) {
  const auto sum = [&](uint32_t set) {
    uint64_t total = 0;
    for (size_t p = 0; p < units.size(); ++p) total += set >> p & 1 ? units[p] : 0;
    return total;
  };
  std::map<uint32_t, uint64_t> states{{0, 0}};  // the set that is kept: units moved so far
  for (const Step& step : steps) {
    std::map<uint32_t, uint64_t> next;
    const uint32_t used = 1U << step.page;
    for (const auto& [held, moved] : states) {
      const uint64_t now = moved + (held & used ? 0 : units[step.page]) + (step.written ? units[step.page] : 0);
      for (uint32_t keep = held;; keep = (keep - 1) & held) {  // every subset may stay
        if (sum(keep | used) <= capacity) {
          const auto [at, isnew] = next.try_emplace(keep | used, now);
          at->second = std::min(at->second, now);
        }
        if (keep == 0) break;
      }
    }
    states.swap(next);
  }
  uint64_t fewest = ~uint64_t{0};
  for (const auto& [held, moved] : states) fewest = std::min(fewest, moved);
  return fewest;
}

uint64_t PlannedUnits(const std::vector<uint64_t>& units, const std::vector<Step>& steps, uint64_t capacity) {
  fakes::ProgramWriter w;
  uint64_t all = 0;
  for (const uint64_t u : units) {
    w.Persistent(Tier::kHost, u);
    all += u;
  }
  uint32_t block = 0;
  for (const Step& step : steps) {  // far apart, so that every write goes home by itself
    w.On(Tier::kDevice, block += 10, {{step.page, step.written ? Access::kUpdate : Access::kRead}});
  }
  const auto plan = MakePlan(w.program(), {capacity * 4096, all * 4096}, {0, 0});
  EXPECT_TRUE(plan) << plan.error().message;
  return (plan->moved.upload + plan->moved.download) / 4096;
}

TEST(PlannerOptimum, EqualCleanPagesAreFetchedAsRarelyAsPossible) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    const std::vector<uint64_t> units(3 + random() % 4, 1);
    std::vector<Step> steps(4 + random() % 21);
    for (Step& step : steps) step = {static_cast<PageId>(random() % units.size()), false};
    const uint64_t capacity = 1 + random() % 4;
    ASSERT_EQ(PlannedUnits(units, steps, capacity), FewestUnits(units, steps, capacity)) << "seed " << seed;
  }
}

TEST(PlannerOptimum, UnequalAndWrittenPagesMoveCloseToTheFewestBytes) {
  std::vector<double> ratios;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<uint64_t> units(3 + random() % 4);
    for (uint64_t& u : units) u = 1 + random() % 4;
    std::vector<Step> steps(6 + random() % 19);
    for (Step& step : steps) step = {static_cast<PageId>(random() % units.size()), random() % 5 == 0};
    const uint64_t capacity = 4 + random() % 6;
    ratios.push_back(static_cast<double>(PlannedUnits(units, steps, capacity)) /
                     static_cast<double>(FewestUnits(units, steps, capacity)));
  }
  std::sort(ratios.begin(), ratios.end());
  const double median = ratios[ratios.size() / 2], tenth = ratios[ratios.size() * 9 / 10], worst = ratios.back();
  std::printf("bytes against the fewest: median %.3f, 90 %% %.3f, worst %.3f\n", median, tenth, worst);
  EXPECT_GE(ratios.front(), 1.0);
  EXPECT_LE(median, 1.05);
  EXPECT_LE(tenth, 1.25);
}

}  // namespace
}  // namespace tidemill::swap_scheduler
