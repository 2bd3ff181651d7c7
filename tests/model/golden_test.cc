// The whole model against the reference's numbers, and against itself where no bit may differ.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/model/whole_model.h"

namespace tidemill::model {
namespace {

struct Outcome {
  double first_loss = 0, step_loss = 0;
  NamedTensors gradients;
};

// The first step's two micro-batches.
Outcome FirstStep(const Golden& golden, const Options& options) {
  WholeModel model(golden.config, golden.weights, options);
  const TokenBatch batches[] = {golden.Batch(0, 0), golden.Batch(0, 1)};
  const auto supervised = static_cast<double>(batches[0].supervised + batches[1].supervised);
  Outcome outcome;
  for (const TokenBatch& batch : batches) {
    const double sum = model.Run(batch, static_cast<float>(1 / supervised));
    if (outcome.step_loss == 0) outcome.first_loss = sum / static_cast<double>(batch.supervised);
    outcome.step_loss += sum / supervised;
  }
  outcome.gradients = model.Gradients();
  return outcome;
}

class GoldenModel : public testing::TestWithParam<const char*> {
 protected:
  const Golden golden_{GetParam()};
};

TEST_P(GoldenModel, FirstStepHasTheLossAndGradientsOfTheReference) {
  const Outcome outcome = FirstStep(golden_, {});
  EXPECT_NEAR(outcome.first_loss, golden_.expected["first_micro_batch"]["loss"].get<double>(), 1e-5);
  EXPECT_NEAR(outcome.step_loss, golden_.expected["steps"][0]["loss"].get<double>(), 1e-5);
  double square_sum = 0;
  EXPECT_EQ(outcome.gradients.size(), golden_.expected["tensors"].size());
  for (const auto& [name, tensor] : golden_.expected["tensors"].items()) {
    ASSERT_TRUE(outcome.gradients.contains(name)) << name;
    const std::vector<float>& grad = outcome.gradients.at(name);
    double squares = 0, worst = 0;
    for (const float g : grad) squares += double{g} * g;
    square_sum += squares;
    const double norm = tensor["grad_step1"]["norm"];
    // The gradient of a bias of k nearly vanishes: what is left is rounding.
    EXPECT_NEAR(std::sqrt(squares), norm, (name.ends_with("k_proj.bias") ? 1e-3 : 2e-5) * norm) << name;
    for (size_t i = 0; i < tensor["grad_step1"]["at"].size(); ++i)
      worst = std::max(worst, std::abs(grad[tensor["grad_step1"]["at"][i].get<size_t>()] -
                                       tensor["grad_step1"]["values"][i].get<double>()));
    EXPECT_LT(worst, 1e-5 * norm + 1e-8) << name;
  }
  const double norm = golden_.expected["steps"][0]["grad_norm"];
  EXPECT_NEAR(std::sqrt(square_sum) / norm, 1, 1e-5);
}

TEST_P(GoldenModel, ACacheGivesTheLogitsOfTheReference) {
  const TokenBatch batch = golden_.Batch(0, 0);
  const std::vector<int32_t> ids(batch.ids.begin(), batch.ids.begin() + batch.offsets[1]);
  const auto& expected = golden_.expected["first_micro_batch"];
  for (const int64_t step : {int64_t{1}, int64_t{7}, static_cast<int64_t>(ids.size())}) {
    const auto logits = WholeModel(golden_.config, golden_.weights, {}).Generate(ids, step);
    const auto vocabulary = static_cast<size_t>(golden_.config.vocabulary);
    ASSERT_EQ(logits.size(), ids.size() * vocabulary);
    const std::vector<double> first = expected["logits_first_row"], last = expected["logits_last_row"];
    const size_t last_row = expected["last_row"];
    for (size_t i = 0; i < vocabulary; ++i) {
      EXPECT_NEAR(logits[i], first[i], 2e-5);
      EXPECT_NEAR(logits[last_row * vocabulary + i], last[i], 2e-5);
    }
  }
}

TEST_P(GoldenModel, NeitherRecomputeNorKeptLogitsNorThreadsChangeABit) {
  const Outcome plain = FirstStep(golden_, {.threads = 2});
  for (const Options& options : {Options{.threads = 1}, Options{.threads = 3, .recompute = true},
                                 Options{.threads = 2, .recompute = true, .keep_logits = true}}) {
    const Outcome other = FirstStep(golden_, options);
    EXPECT_EQ(plain.step_loss, other.step_loss);
    EXPECT_EQ(plain.gradients, other.gradients);
  }
}

TEST_P(GoldenModel, WeightsInBf16GiveTheBitsOfTheSameWeightsInFp32) {
  Golden rounded = golden_;
  for (auto& [name, values] : rounded.weights)
    for (float& value : values) value = Bf16ToFloat(RoundToBf16Even(value));
  const Outcome wide = FirstStep(rounded, {}), narrow = FirstStep(rounded, {.weights = DType::kBf16});
  EXPECT_EQ(wide.step_loss, narrow.step_loss);
  EXPECT_EQ(wide.gradients, narrow.gradients);
}

TEST_P(GoldenModel, FrozenTensorsHaveNoGradientAndChangeNoOther) {
  const Outcome all = FirstStep(golden_, {});
  for (const char* const pattern : {"mlp.down_proj", "self_attn.q_proj", "norm", "embed_tokens", "layers.0", ".bias"}) {
    Options options;
    options.frozen = [&](const std::string& name) { return name.find(pattern) != std::string::npos; };
    const Outcome some = FirstStep(golden_, options);
    EXPECT_EQ(some.step_loss, all.step_loss);
    for (const auto& [name, grad] : all.gradients) {
      ASSERT_EQ(some.gradients.contains(name), !options.frozen(name)) << name;
      if (some.gradients.contains(name)) {
        EXPECT_EQ(some.gradients.at(name), grad) << name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenModel,
                         testing::Values("llama_gqa_tied_f32", "llama3_rope_bf16", "mistral_sliding_f16",
                                         "qwen2_bias_tied_bf16", "qwen3_qknorm_bf16"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace tidemill::model
