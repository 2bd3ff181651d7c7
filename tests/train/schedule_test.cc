#include "train/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace tidemill::train {
namespace {

constexpr double kMax = 1e-3;

Schedule Make(ScheduleType type, const Warmup& warmup, int64_t total_steps, const ScheduleOptions& options = {}) {
  auto schedule = Schedule::Create(type, kMax, warmup, options, total_steps);
  EXPECT_TRUE(schedule.has_value()) << schedule.error().message;
  return *schedule;
}

std::string ErrorOf(ScheduleType type, const char* kwargs, double learning_rate = kMax) {
  const auto options = ParseScheduleOptions(type, kwargs);
  if (!options.has_value()) return options.error().message;
  const auto schedule = Schedule::Create(type, learning_rate, {}, *options, 10);
  return schedule.has_value() ? "no error" : schedule.error().message;
}

TEST(Schedule, ReproducesTransformersToTwelveDigits) {
  std::ifstream file(std::string(TIDEMILL_SOURCE_DIR) + "/tests/golden/lr/lr.json");
  const nlohmann::json golden = nlohmann::json::parse(file);
  ASSERT_EQ(golden["cases"].size(), 10U);
  for (const auto& wanted : golden["cases"]) {
    const auto type = ScheduleTypeFromName(wanted["name"].get<std::string>());
    ASSERT_TRUE(type.has_value());
    ScheduleOptions options;
    if (wanted.contains("min_lr_rate")) options.min_lr_rate = wanted["min_lr_rate"].get<double>();
    const Schedule schedule = Make(*type, {wanted["warmup_steps"].get<double>(), 0}, wanted["total_steps"], options);
    for (size_t step = 0; step < wanted["lr_at_step"].size(); ++step)
      ASSERT_NEAR(schedule.LearningRate(static_cast<int64_t>(step)), wanted["lr_at_step"][step].get<double>(), 1e-15)
          << wanted["name"] << " step " << step;
  }
}

// Worked by hand from the formulas of get_scheduler.
TEST(Schedule, FollowsTheFormulasOfTheOtherThree) {
  const Schedule inverse = Make(ScheduleType::kInverseSqrt, {4, 0}, 100);
  EXPECT_DOUBLE_EQ(inverse.LearningRate(2), kMax * 0.5);
  EXPECT_DOUBLE_EQ(inverse.LearningRate(16), kMax * 0.5);  // 1 / sqrt(16 / 4)

  ScheduleOptions squared;
  squared.power = 2;
  squared.lr_end = 1e-4;
  const Schedule square = Make(ScheduleType::kPolynomial, {0, 0}, 10, squared);
  EXPECT_DOUBLE_EQ(square.LearningRate(5), 9e-4 * 0.25 + 1e-4);
  EXPECT_DOUBLE_EQ(square.LearningRate(10), 1e-4);

  ScheduleOptions stable;
  stable.num_decay_steps = 4;
  stable.min_lr_ratio = 0.1;
  stable.decay_type = RampShape::kLinear;
  const Schedule wsd = Make(ScheduleType::kWarmupStableDecay, {2, 0}, 10, stable);
  EXPECT_DOUBLE_EQ(wsd.LearningRate(1), kMax * (0.5 * 0.9 + 0.1));
  EXPECT_DOUBLE_EQ(wsd.LearningRate(5), kMax);
  EXPECT_DOUBLE_EQ(wsd.LearningRate(8), kMax * (0.5 * 0.9 + 0.1));
  EXPECT_DOUBLE_EQ(wsd.LearningRate(10), kMax * 0.1);
}

TEST(Schedule, GivesTheSixRatesOfAShortCosine) {
  const Schedule cosine = Make(ScheduleType::kCosine, {2, 0}, 6);
  const double wanted[] = {0, 0.5, 1, 0.853553, 0.5, 0.146447};
  for (int64_t step = 0; step < 6; ++step) EXPECT_NEAR(cosine.LearningRate(step) / kMax, wanted[step], 1e-6) << step;
}

TEST(Schedule, StaysWithinBoundsAndNeverRisesAfterWarmupAtEveryEdge) {
  std::string_view names = kScheduleNames;
  for (uint8_t index = 0; index < 8; ++index) {
    const auto type = static_cast<ScheduleType>(index);
    ScheduleOptions options;
    if (type == ScheduleType::kCosineWithMinLr) options.min_lr = 1e-4;
    if (type == ScheduleType::kWarmupStableDecay) options.num_decay_steps = 2;
    for (const int64_t total : {1, 2, 6}) {
      for (const int64_t warmup : {int64_t{0}, int64_t{1}, int64_t{2}, total, total + 1}) {
        const Schedule schedule = Make(type, {static_cast<double>(warmup), 0}, total, options);
        double last = schedule.LearningRate(warmup);
        for (int64_t step = 0; step < 3 * total + 4; ++step) {
          const double rate = schedule.LearningRate(step);
          ASSERT_TRUE(std::isfinite(rate) && rate >= 0 && rate <= kMax)
              << int{index} << " warmup " << warmup << " total " << total << " step " << step << ": " << rate;
          if (step < warmup) continue;
          ASSERT_LE(rate, last) << int{index} << " warmup " << warmup << " total " << total << " step " << step;
          last = rate;
        }
      }
    }
  }
  EXPECT_EQ(std::count(names.begin(), names.end(), '|'), 7);
}

TEST(Schedule, HoldsTheLastRatePastTheEnd) {
  const Schedule cosine = Make(ScheduleType::kCosine, {0, 0}, 4);
  EXPECT_NEAR(cosine.LearningRate(4), 0, 1e-18);
  EXPECT_EQ(cosine.LearningRate(7), cosine.LearningRate(4));
}

TEST(Schedule, TakesAWarmupBelowOneAsAShareRoundedUp) {
  EXPECT_EQ((Warmup{0.1, 0}.Steps(101)), 11);
  EXPECT_EQ((Warmup{0, 0.1}.Steps(101)), 11);
  EXPECT_EQ((Warmup{3, 0.5}.Steps(100)), 3);  // steps win
  EXPECT_EQ((Warmup{0, 0}.Steps(100)), 0);
}

TEST(Schedule, TakesAFloorAsARateOrAShare) {
  const auto rate = ParseScheduleOptions(ScheduleType::kCosineWithMinLr, R"({"min_lr": 1e-4})");
  const auto share = ParseScheduleOptions(ScheduleType::kCosineWithMinLr, R"({"min_lr_rate": 0.1})");
  ASSERT_TRUE(rate.has_value() && share.has_value());
  for (const auto& options : {*rate, *share})
    EXPECT_NEAR(Make(ScheduleType::kCosineWithMinLr, {0, 0}, 10, options).LearningRate(10), 1e-4, 1e-18);
}

TEST(Schedule, RefusesOptionsByName) {
  using enum ScheduleType;
  EXPECT_NE(ErrorOf(kPolynomial, R"({"powr": 2})").find("did you mean power"), std::string::npos);
  EXPECT_NE(ErrorOf(kLinear, R"({"power": 2})").find("$.power"), std::string::npos);
  EXPECT_NE(ErrorOf(kPolynomial, R"({"power": "2"})").find("$.power"), std::string::npos);
  EXPECT_NE(ErrorOf(kPolynomial, "[]").find("not a JSON object"), std::string::npos);
  EXPECT_NE(ErrorOf(kCosineWithMinLr, "{}").find("min_lr_rate"), std::string::npos);
  EXPECT_NE(ErrorOf(kCosineWithMinLr, R"({"min_lr": 1})").find("min_lr"), std::string::npos);
  EXPECT_NE(ErrorOf(kWarmupStableDecay, "{}").find("num_decay_steps"), std::string::npos);
  EXPECT_NE(ErrorOf(kWarmupStableDecay, R"({"num_decay_steps": 1.5})").find("num_decay_steps"), std::string::npos);
  EXPECT_NE(ErrorOf(kWarmupStableDecay, R"({"decay_type": "steep"})").find("decay_type"), std::string::npos);
  EXPECT_NE(ErrorOf(kPolynomial, R"({"lr_end": 1})").find("lr_end"), std::string::npos);
  EXPECT_NE(ErrorOf(kPolynomial, "", 1e-8).find("lr_end"), std::string::npos);
}

}  // namespace
}  // namespace tidemill::train
