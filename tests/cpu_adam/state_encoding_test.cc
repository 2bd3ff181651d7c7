#include "cpu_adam/state_encoding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/cpu_adam/tile_buffers.h"

namespace tidemill::cpu_adam::tests {
namespace {

// Moments of one page in one encoding.
struct Page {
  Page(StateDtype state, size_t elements)
      : dtype(state), count(elements), m(MomentBytes(state, elements)), v(MomentBytes(state, elements)) {}
  MomentView View() { return PageMoments(dtype, m.data(), v.data(), count); }

  StateDtype dtype;
  size_t count;
  std::vector<std::byte> m, v;
};

struct Moments {
  std::vector<float> m, v;
};

// Magnitudes over `decades` powers of ten below one, and some zeros.
Moments Spread(size_t count, double decades) {
  std::mt19937_64 random(count);
  std::uniform_real_distribution<double> uniform(0, 1);
  Moments x{std::vector<float>(count), std::vector<float>(count)};
  for (size_t i = 0; i < count; ++i) {
    x.m[i] = static_cast<float>(std::pow(10, -decades * uniform(random)) * (uniform(random) < 0.5 ? -1 : 1));
    x.v[i] = static_cast<float>(std::pow(10, -2 * decades * uniform(random)));
    if (uniform(random) < 0.05) x.m[i] = x.v[i] = 0;
  }
  return x;
}

Moments Decoded(Page& page) {
  Moments x{std::vector<float>(page.count), std::vector<float>(page.count)};
  DecodeMoments(page.View(), x.m, x.v);
  return x;
}

TEST(StateEncoding, TakesTheBytesThatTheHeaderSays) {
  EXPECT_EQ(MomentBytes(StateDtype::kFp32, 1000), 4000U);
  EXPECT_EQ(MomentBytes(StateDtype::kBf16, 1000), 2000U);
  EXPECT_EQ(MomentBytes(StateDtype::kInt8, 1024), 1024U + 4);
  EXPECT_EQ(MomentBytes(StateDtype::kInt8, 1025), 1025U + 5);
  for (const StateDtype dtype : kStates) EXPECT_EQ(StateDtypeFromName(StateDtypeName(dtype)).value(), dtype);
  EXPECT_EQ(StateDtypeFromName("int4").error().code, ErrorCode::kInvalidArgument);
}

TEST(StateEncoding, EncodingWhatWasDecodedGivesTheSameBytes) {
  for (const StateDtype dtype : kStates) {
    for (const double decades : {1.0, 4.0, 12.0}) {
      const Moments x = Spread(5000, decades);
      Page first(dtype, 5000), second(dtype, 5000);
      EncodeMoments(x.m, x.v, {.seed = 1, .step = 9}, first.View());
      const Moments decoded = Decoded(first);
      EncodeMoments(decoded.m, decoded.v, {.seed = 7, .step = 2, .first_element = 76}, second.View());
      EXPECT_EQ(first.m, second.m) << StateDtypeName(dtype) << " " << decades;
      EXPECT_EQ(first.v, second.v) << StateDtypeName(dtype) << " " << decades;
    }
  }
}

// The bound of the header: `relative` of the value while it is at least `reach` of the block's largest, below that
// `absolute` of twice the block's largest.
void ExpectWithin(const std::vector<float>& x, const std::vector<float>& stored, double relative, double reach,
                  double absolute) {
  for (size_t begin = 0; begin < x.size(); begin += kMomentBlock) {
    const size_t end = std::min(x.size(), begin + kMomentBlock);
    double largest = 0;
    for (size_t i = begin; i < end; ++i) largest = std::max(largest, std::abs(double{x[i]}));
    for (size_t i = begin; i < end; ++i) {
      const double value = std::abs(double{x[i]});
      const double bound = value >= reach * 2 * largest ? relative * value : absolute * 2 * largest;
      ASSERT_LE(std::abs(double{x[i]} - double{stored[i]}), bound) << i << " " << x[i] << " " << stored[i];
    }
  }
}

TEST(StateEncoding, ErrsByNoMoreThanTheHeaderSays) {
  for (const double decades : {1.0, 4.0, 7.0}) {
    const Moments x = Spread(10'000, decades);
    Page fp32(StateDtype::kFp32, 10'000), bf16(StateDtype::kBf16, 10'000), int8(StateDtype::kInt8, 10'000);
    for (Page* page : {&fp32, &bf16, &int8}) EncodeMoments(x.m, x.v, {.seed = 3, .step = 1}, page->View());
    EXPECT_EQ(Decoded(fp32).m, x.m);
    EXPECT_EQ(Decoded(fp32).v, x.v);
    ExpectWithin(x.m, Decoded(bf16).m, 0x1p-7, 0, 0);
    ExpectWithin(x.v, Decoded(bf16).v, 0x1p-7, 0, 0);
    ExpectWithin(x.m, Decoded(int8).m, 0x1p-3, 0x1p-14, 0x1p-17);
    ExpectWithin(x.v, Decoded(int8).v, 0x1p-3, 0x1p-29, 0x1p-32);
  }
}

TEST(StateEncoding, RoundingIsUnbiased) {
  constexpr size_t kCount = 512;
  constexpr int kDraws = 4000;
  const Moments x = Spread(kCount, 5);
  for (const StateDtype dtype : {StateDtype::kBf16, StateDtype::kInt8}) {
    std::vector<double> sum_m(kCount), sum_v(kCount);
    Page page(dtype, kCount);
    for (int step = 1; step <= kDraws; ++step) {
      EncodeMoments(x.m, x.v, {.seed = 5, .step = step}, page.View());
      const Moments decoded = Decoded(page);
      for (size_t i = 0; i < kCount; ++i) {
        sum_m[i] += decoded.m[i];
        sum_v[i] += decoded.v[i];
      }
    }
    // A draw spreads by at most half a spacing; five standard deviations of the mean, and below the reach of int8's
    // exponents the smallest step instead.
    const double spacing = dtype == StateDtype::kBf16 ? 0x1p-7 : 0x1p-3;
    for (size_t i = 0; i < kCount; ++i) {
      const double deviation_m = std::max(spacing * std::abs(double{x.m[i]}), 0x1p-17) / 2 / std::sqrt(kDraws);
      const double deviation_v = std::max(spacing * double{x.v[i]}, 0x1p-32) / 2 / std::sqrt(kDraws);
      ASSERT_NEAR(sum_m[i] / kDraws, x.m[i], 5 * deviation_m) << i << " " << StateDtypeName(dtype);
      ASSERT_NEAR(sum_v[i] / kDraws, x.v[i], 5 * deviation_v) << i << " " << StateDtypeName(dtype);
    }
  }
}

TEST(StateEncoding, DrawsFollowSeedStepAndElementOnly) {
  const Moments x = Spread(2048, 2);
  const auto encode = [&x](const RoundingKey& key) {
    Page page(StateDtype::kBf16, 2048);
    EncodeMoments(x.m, x.v, key, page.View());
    return page.m;
  };
  const auto base = encode({.seed = 1, .step = 1, .first_element = 100});
  EXPECT_EQ(encode({.seed = 1, .step = 1, .first_element = 100}), base);
  EXPECT_NE(encode({.seed = 2, .step = 1, .first_element = 100}), base);
  EXPECT_NE(encode({.seed = 1, .step = 2, .first_element = 100}), base);
  EXPECT_NE(encode({.seed = 1, .step = 1, .first_element = 102}), base);
  EXPECT_NE(encode({.seed = 1, .step = 1, .first_element = 100 + (uint64_t{1} << 32)}), base);
}

// How far two draws are from independent: chi-squared over 64 x 64 cells, in standard deviations.
double Dependence(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  constexpr uint32_t kCells = 64;
  std::vector<double> cells(kCells * kCells);
  for (size_t i = 0; i < a.size(); ++i) cells[a[i] * kCells + b[i]] += 1;
  const double freedom = kCells * kCells - 1, expected = static_cast<double>(a.size()) / (freedom + 1);
  double chi = 0;
  for (const double cell : cells) chi += (cell - expected) * (cell - expected) / expected;
  return std::abs(chi - freedom) / std::sqrt(2 * freedom);
}

// The top six bits of each element's draw: how many of 63 values between two bf16 numbers it rounds up.
std::vector<uint32_t> TopBits(bool second, size_t count, const RoundingKey& key) {
  std::vector<uint32_t> bits(count);
  for (uint32_t threshold = 1; threshold < 64; ++threshold) {
    const float value = 1 + static_cast<float>(threshold) * 0x1p-13F;
    const std::vector<float> x(count, value), one(count, 1.0F);
    Page page(StateDtype::kBf16, count);
    EncodeMoments(second ? one : x, second ? x : one, key, page.View());
    const Moments stored = Decoded(page);
    for (size_t i = 0; i < count; ++i) bits[i] += (second ? stored.v : stored.m)[i] > 1;
  }
  return bits;
}

TEST(StateEncoding, DrawsOfNeighboursMomentsAndStepsAreIndependent) {
  constexpr size_t kCount = 1 << 17;
  const RoundingKey key{.seed = 21, .step = 7};
  const auto m = TopBits(false, kCount, key), v = TopBits(true, kCount, key);
  const auto next = TopBits(false, kCount, {.seed = 21, .step = 8});
  EXPECT_LT(Dependence(m, v), 5);
  EXPECT_LT(Dependence(m, next), 5);
  for (const size_t lag : {1U, 2U, 3U, 64U}) {
    const std::vector<uint32_t> early(m.begin(), m.end() - static_cast<std::ptrdiff_t>(lag));
    EXPECT_LT(Dependence(early, {m.begin() + static_cast<std::ptrdiff_t>(lag), m.end()}), 5) << lag;
  }
}

TEST(StateEncoding, AFreshPageOfZeroBytesIsZeroMoments) {
  for (const StateDtype dtype : kStates) {
    Page page(dtype, 1000);
    EXPECT_EQ(Decoded(page).m, std::vector<float>(1000));
    EXPECT_EQ(Decoded(page).v, std::vector<float>(1000));
  }
}

TEST(StateEncoding, TheLargestAndSmallestFloatsKeepTheirSide) {
  const float big = std::numeric_limits<float>::max(), tiny = std::numeric_limits<float>::denorm_min();
  const std::vector<float> m{big, -big, 1, 0, tiny}, v{big, 1, 0, tiny, 0};
  Page page(StateDtype::kInt8, 5);
  EncodeMoments(m, v, {}, page.View());
  const Moments decoded = Decoded(page);
  EXPECT_EQ(decoded.m, (std::vector<float>{0x1.ep127F, -0x1.ep127F, 0, 0, 0}));
  EXPECT_EQ(decoded.v, (std::vector<float>{0x1.ep127F, 0, 0, 0, 0}));
}

TEST(StateEncoding, TheFusedPassStoresWhatEncodeStores) {
  constexpr size_t kCount = 1000;
  for (const StateDtype dtype : kStates) {
    TileBuffers fused({.count = kCount, .state = dtype}), apart({.count = kCount});
    auto* const m = reinterpret_cast<float*>(apart.exp_avg());
    auto* const v = reinterpret_cast<float*>(apart.exp_avg_sq());
    DecodeMoments(fused.View().moments, {m, kCount}, {v, kCount});
    ASSERT_TRUE(StepTile(TestCoefficients(), fused.View()));
    ASSERT_TRUE(StepTile(TestCoefficients(), apart.View()));
    Page expected(dtype, kCount);
    EncodeMoments({m, kCount}, {v, kCount}, fused.View().rounding, expected.View());
    for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(fused.master()[i], apart.master()[i]);
    EXPECT_EQ(std::vector<std::byte>(fused.exp_avg(), fused.exp_avg() + expected.m.size()), expected.m);
    EXPECT_EQ(std::vector<std::byte>(fused.exp_avg_sq(), fused.exp_avg_sq() + expected.v.size()), expected.v);
  }
}

// What nearest rounding gets wrong: a thousandth per step is less than half of either format's spacing.
TEST(StateEncoding, TheSecondMomentDecaysAlthoughAStepIsBelowTheSpacing) {
  constexpr size_t kCount = 4096;
  std::vector<float> p(kCount, 1.0F), g(kCount);
  for (const StateDtype dtype : {StateDtype::kBf16, StateDtype::kInt8}) {
    Page page(dtype, kCount);
    EncodeMoments(std::vector<float>(kCount), std::vector<float>(kCount, 1e-4F), {}, page.View());
    for (int64_t step = 1; step <= 1000; ++step) {
      StepTile(TestCoefficients(step), {.count = kCount,
                                        .master = Fp32Master{p.data()},
                                        .moments = page.View(),
                                        .grad = Fp32Grad{g.data()},
                                        .rounding = {.seed = 1, .step = step}});
    }
    double mean = 0;
    for (const float v : Decoded(page).v) mean += v / static_cast<double>(kCount);
    EXPECT_NEAR(mean, 1e-4 * std::pow(0.999, 1000), 2e-6) << StateDtypeName(dtype);
  }
}

// Without a master: single weights stall or jump, but their mean moves as an fp32 master would.
TEST(StateEncoding, ABf16MasterMovesOnAverage) {
  constexpr size_t kCount = 1 << 14;
  std::vector<uint16_t> param(kCount, RoundToBf16Even(1.0F));
  std::vector<float> m(kCount), v(kCount), g(kCount, 0.5F);
  for (int64_t step = 1; step <= 100; ++step) {
    StepTile(MakeAdamCoefficients({.learning_rate = 6e-4}, 0, step, 1.0), {.count = kCount,
                                                                           .master = Bf16Master{param.data()},
                                                                           .moments = Fp32Moments{m.data(), v.data()},
                                                                           .grad = Fp32Grad{g.data()},
                                                                           .rounding = {.seed = 11, .step = step}});
  }
  double mean = 0;
  for (const uint16_t bits : param) mean += Bf16ToFloat(bits) / static_cast<double>(kCount);
  EXPECT_NEAR(mean, 0.94, 0.002);
}

}  // namespace
}  // namespace tidemill::cpu_adam::tests
