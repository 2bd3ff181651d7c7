#include "offload/moment_codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace tidemill::offload {
namespace {

using cpu_adam::MomentBytes;
using cpu_adam::StateDtype;

struct Case {
  StateDtype dtype;
  Moment moment;
  double error;  // of a value, relative to itself
};

class EveryMoment : public testing::TestWithParam<Case> {};

std::vector<float> Values(size_t count, Moment moment) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0, 1e-3F);
  std::vector<float> values(count);
  for (float& value : values) value = moment == Moment::kExpAvg ? normal(random) : std::fabs(normal(random));
  return values;
}

TEST_P(EveryMoment, ComesBackWithinItsErrorAndThenExactly) {
  const auto [dtype, moment, error] = GetParam();
  for (const size_t count : {1U, 255U, 256U, 4096U, 4097U, 10000U}) {
    const std::vector<float> values = Values(count, moment);
    std::vector<float> once(count), twice(count);
    std::vector<std::byte> page(MomentBytes(dtype, count)), again(page.size());
    EncodeMoment(dtype, moment, values, 6, page);
    DecodeMoment(dtype, moment, page, once);
    for (size_t i = 0; i < count; ++i)
      ASSERT_NEAR(once[i], values[i], error * std::fabs(values[i]) + 1e-7) << count << " " << i;
    EncodeMoment(dtype, moment, once, 123456788, again);
    EXPECT_TRUE(page == again) << count;
    DecodeMoment(dtype, moment, again, twice);
    EXPECT_TRUE(once == twice) << count;
  }
}

TEST_P(EveryMoment, IsThatOfTheFusedPassesLayout) {
  const auto [dtype, moment, error] = GetParam();
  const size_t count = 9000;
  const std::vector<float> values = Values(count, moment);
  std::vector<std::byte> page(MomentBytes(dtype, count)), m(page.size()), v(page.size());
  EncodeMoment(dtype, moment, values, 76, page);
  const bool is_first = moment == Moment::kExpAvg;
  const std::vector<float> zeros(count);
  cpu_adam::EncodeMoments(is_first ? values : zeros, is_first ? zeros : values, {0, 0, 76},
                          cpu_adam::PageMoments(dtype, m.data(), v.data(), count));
  EXPECT_TRUE(page == (is_first ? m : v));
}

INSTANTIATE_TEST_SUITE_P(, EveryMoment,
                         testing::Values(Case{StateDtype::kFp32, Moment::kExpAvg, 0},
                                         Case{StateDtype::kFp32, Moment::kExpAvgSq, 0},
                                         Case{StateDtype::kBf16, Moment::kExpAvg, 1.0 / 128},
                                         Case{StateDtype::kBf16, Moment::kExpAvgSq, 1.0 / 128},
                                         Case{StateDtype::kInt8, Moment::kExpAvg, 1.0 / 8},
                                         Case{StateDtype::kInt8, Moment::kExpAvgSq, 1.0 / 8}));

}  // namespace
}  // namespace tidemill::offload
