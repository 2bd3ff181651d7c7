// The rule against float64 arithmetic, and the values of known mistakes.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/cpu_adam/tile_buffers.h"

namespace tidemill::cpu_adam::tests {
namespace {

struct Reference {
  double p, m, v;
};

// In float64, from the same float inputs and coefficients.
void ReferenceStep(const AdamCoefficients& k, double g, Reference& r) {
  g *= k.grad_scale;
  r.m = double{k.beta1} * r.m + double{k.one_minus_beta1} * g;
  r.v = double{k.beta2} * r.v + double{k.one_minus_beta2} * g * g;
  r.p = r.p * k.decay + double{k.negative_step_size} * r.m / (std::sqrt(r.v) * k.inverse_sqrt_bias2 + k.epsilon);
}

// In ulps of the largest of the result and what it is the sum of: where those nearly cancel, that is what rounds.
double UlpsApart(float value, double exact, double before) {
  const auto near = static_cast<float>(std::max({std::abs(exact), std::abs(before), std::abs(exact - before)}));
  const double ulp = double{std::nextafter(near, INFINITY)} - double{near};
  return std::abs(double{value} - exact) / ulp;
}

TEST(AdamAccuracy, OneStepIsWithinTwoUlpOfFloat64) {
  constexpr size_t kCount = 100'000;
  for (const Isa isa : SupportedIsas()) {
    TileBuffers buffers({.count = kCount});
    std::vector<Reference> expected(kCount);
    auto* const m = reinterpret_cast<float*>(buffers.exp_avg());
    auto* const v = reinterpret_cast<float*>(buffers.exp_avg_sq());
    const auto* const g = reinterpret_cast<const float*>(buffers.grad());
    std::vector<Reference> before(kCount);
    for (size_t i = 0; i < kCount; ++i) {
      before[i] = expected[i] = {buffers.master()[i], m[i], v[i]};
      ReferenceStep(TestCoefficients(), g[i], expected[i]);
    }
    ASSERT_TRUE(StepTile(TestCoefficients(), buffers.View(), isa));
    for (size_t i = 0; i < kCount; ++i) {
      ASSERT_LE(UlpsApart(m[i], expected[i].m, before[i].m), 2) << i;
      ASSERT_LE(UlpsApart(v[i], expected[i].v, before[i].v), 2) << i;
      ASSERT_LE(UlpsApart(buffers.master()[i], expected[i].p, before[i].p), 2) << i;
    }
  }
}

TEST(AdamAccuracy, AThousandStepsStayWithinTheHeadersBound) {
  constexpr size_t kCount = 512;
  constexpr int kSteps = 1000;
  constexpr double kRate = 1e-3;
  TileBuffers buffers({.count = kCount});
  std::vector<Reference> expected(kCount);
  auto* const m = reinterpret_cast<float*>(buffers.exp_avg());
  auto* const v = reinterpret_cast<float*>(buffers.exp_avg_sq());
  auto* const g = reinterpret_cast<float*>(buffers.grad());
  for (size_t i = 0; i < kCount; ++i) {
    m[i] = v[i] = 0;
    expected[i] = {buffers.master()[i], 0, 0};
  }
  std::mt19937_64 random(7);
  std::normal_distribution<float> normal;
  for (int step = 1; step <= kSteps; ++step) {
    const AdamCoefficients k = MakeAdamCoefficients({.learning_rate = kRate}, 0.01, step, 1.0);
    for (size_t i = 0; i < kCount; ++i) {
      g[i] = (normal(random) + 0.3F) * 1e-3F;
      ReferenceStep(k, g[i], expected[i]);
    }
    StepTile(k, buffers.View());
  }
  for (size_t i = 0; i < kCount; ++i) {
    const double ulp = std::ldexp(1.0, std::ilogb(std::max(std::abs(expected[i].p), 1.0)) - 23);
    const double bound = kSteps * ulp + 520 * std::ldexp(1.0, -24) * kSteps * kRate;
    ASSERT_LE(std::abs(double{buffers.master()[i]} - expected[i].p), bound) << i;
  }
}

// One weight, one step.
float StepOne(float p, float g, double lr, double weight_decay) {
  float m = 0, v = 0;
  StepTile(MakeAdamCoefficients({.learning_rate = lr}, weight_decay, 1, 1.0),
           {.count = 1, .master = Fp32Master{&p}, .moments = Fp32Moments{&m, &v}, .grad = Fp32Grad{&g}});
  return p;
}

TEST(AdamAccuracy, DecayIsDecoupledFromTheGradient) { EXPECT_NEAR(StepOne(1, 1, 0.1, 0.1), 0.89F, 1e-6); }
TEST(AdamAccuracy, ATensorWithoutDecayKeepsItsValueUnderAZeroGradient) { EXPECT_EQ(StepOne(1, 0, 0.1, 0), 1.0F); }
TEST(AdamAccuracy, DecayAloneShrinksAWeightUnderAZeroGradient) { EXPECT_NEAR(StepOne(1, 0, 0.1, 0.1), 0.99F, 1e-7); }

// Updates below half an ulp of bf16 add up, because the master has the bits that the copy lacks.
TEST(AdamAccuracy, SmallUpdatesOfABf16WeightAddUp) {
  const SplitBits one = SplitMaster(1.0F);
  std::vector<uint16_t> param(33, one.param), rest(33, one.rest);
  std::vector<float> m(33), v(33), g(33, 0.5F);
  for (int64_t step = 1; step <= 100; ++step) {
    StepTile(MakeAdamCoefficients({.learning_rate = 6e-4}, 0, step, 1.0),
             {.count = 33,
              .master = SplitMasterView{param.data(), rest.data()},
              .moments = Fp32Moments{m.data(), v.data()},
              .grad = Fp32Grad{g.data()}});
  }
  for (size_t i = 0; i < 33; ++i) {
    EXPECT_EQ(Bf16ToFloat(param[i]), 0.94140625F);
    EXPECT_EQ(Bf16ToFloat(RoundToBf16Even(JoinMaster(param[i], rest[i]))), 0.94140625F);
  }
}

// No instruction set flushes what is below the smallest normal number.
TEST(AdamAccuracy, DenormalMomentsDecayAsTheyShouldOnEveryInstructionSet) {
  constexpr size_t kCount = 33;
  for (const Isa isa : SupportedIsas()) {
    std::vector<float> p(kCount, 1.0F), m(kCount, 1e-42F), v(kCount, 1e-42F), g(kCount, 0.0F);
    ASSERT_TRUE(StepTile(MakeAdamCoefficients({.learning_rate = 1e-3}, 0, 2, 1.0),
                         {.count = kCount,
                          .master = Fp32Master{p.data()},
                          .moments = Fp32Moments{m.data(), v.data()},
                          .grad = Fp32Grad{g.data()}},
                         isa));
    for (size_t i = 0; i < kCount; ++i) {
      EXPECT_EQ(m[i], 0.9F * 1e-42F) << IsaName(isa) << " " << i;
      EXPECT_EQ(v[i], 0.999F * 1e-42F) << IsaName(isa) << " " << i;
      EXPECT_EQ(p[i], 1.0F) << IsaName(isa) << " " << i;
    }
  }
}

TEST(AdamAccuracy, CopiesAreTheMasterRounded) {
  TileBuffers bf16({.count = 999, .master = Master::kFp32Bf16Copy}),
      f16({.count = 999, .master = Master::kFp32F16Copy});
  for (TileBuffers* buffers : {&bf16, &f16}) StepTile(TestCoefficients(), buffers->View());
  for (size_t i = 0; i < 999; ++i) {
    EXPECT_EQ(bf16.param()[i], SplitMaster(bf16.master()[i]).param);
    EXPECT_EQ(f16.param()[i], RoundToF16Even(f16.master()[i]));
  }
}

TEST(AdamAccuracy, AMasterThatIsNotFiniteIsReported) {
  ThreadTeam team(2);
  for (const Master master : {Master::kFp32, Master::kSplit}) {
    for (const size_t at : {0UL, 4095UL, 9998UL}) {
      TileBuffers buffers({.count = 9999, .master = master});
      const SplitBits bits = SplitMaster(INFINITY);
      buffers.master()[at] = INFINITY;
      buffers.param()[at] = bits.param;
      buffers.rest()[at] = bits.rest;
      EXPECT_FALSE(StepTile(TestCoefficients(), buffers.View(), team)) << at;
    }
  }
}

}  // namespace
}  // namespace tidemill::cpu_adam::tests
