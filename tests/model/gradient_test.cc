// Shapes that no golden model has: the gradients against differences of the loss.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/model/whole_model.h"

namespace tidemill::model {
namespace {

ModelConfig Small() {
  ModelConfig c;
  c.vocabulary = 37, c.hidden = 24, c.intermediate = 20, c.layers = 2;
  c.heads = 4, c.kv_heads = 2, c.head_dim = 6;
  c.windows = {0, 0};
  return c;
}

NamedTensors RandomWeights(const ModelConfig& config) {
  NamedTensors weights;
  std::mt19937 random(11);
  for (const TensorInfo& tensor : ModelTensors(config)) {
    const bool norm = tensor.name.find("norm") != std::string::npos;
    std::normal_distribution<float> normal(norm ? 1.0F : 0.0F, 0.25F);
    auto& values = weights[tensor.name];
    values.resize(static_cast<size_t>(tensor.elements()));
    for (float& value : values) value = normal(random);
  }
  return weights;
}

// Two sequences; one row in three has no target.
TokenBatch RandomBatch(const ModelConfig& config) {
  std::mt19937 random(13);
  TokenBatch batch;
  batch.offsets = {0};
  for (const int32_t length : {5, 14}) {
    for (int32_t t = 0; t < length; ++t) {
      batch.ids.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(config.vocabulary)));
      batch.positions.push_back(t);
      const bool counts = random() % 3 != 0;
      batch.targets.push_back(counts ? static_cast<int32_t>(random() % static_cast<uint64_t>(config.vocabulary))
                                     : kIgnoredTarget);
    }
    batch.offsets.push_back(static_cast<int32_t>(batch.ids.size()));
  }
  return batch;
}

double LossOf(const ModelConfig& config, const NamedTensors& weights, const TokenBatch& batch) {
  return WholeModel(config, weights, {.threads = 1}).Run(batch, 1);
}

// Along the gradient of each tensor, the loss must rise by the gradient's norm.
void ExpectGradientsMatchDifferences(const ModelConfig& config) {
  const NamedTensors weights = RandomWeights(config);
  const TokenBatch batch = RandomBatch(config);
  WholeModel model(config, weights, {.threads = 2, .recompute = true});
  model.Run(batch, 1);
  for (const auto& [name, grad] : model.Gradients()) {
    double norm = 0;
    for (const float g : grad) norm += double{g} * g;
    norm = std::sqrt(norm);
    const auto loss_at = [&, name = name, &grad = grad](double along) {
      NamedTensors moved = weights;
      for (size_t i = 0; i < grad.size(); ++i) moved[name][i] += static_cast<float>(along * grad[i] / norm);
      return LossOf(config, moved, batch);
    };
    constexpr double kStep = 3e-3;  // differences of fourth order
    const double slope =
        (8 * (loss_at(kStep) - loss_at(-kStep)) - (loss_at(2 * kStep) - loss_at(-2 * kStep))) / (12 * kStep);
    EXPECT_NEAR(slope / norm, 1, name.ends_with("k_proj.bias") ? 2e-2 : 1e-3) << name << " " << norm;
  }
}

TEST(Gradients, WithEveryBias) {
  ModelConfig c = Small();
  c.qkv_bias = c.output_bias = c.mlp_bias = true;
  ExpectGradientsMatchDifferences(c);
}

TEST(Gradients, WithNormsOfQueriesAndKeysBiasesAndATiedHead) {
  ModelConfig c = Small();
  c.qkv_bias = c.output_bias = c.qk_norm = c.tied = true;
  ExpectGradientsMatchDifferences(c);
}

TEST(Gradients, WithHeadsThatDoNotDivideTheHiddenSize) {
  ModelConfig c = Small();
  c.hidden = 56, c.heads = 3, c.kv_heads = 1, c.head_dim = 32;
  ExpectGradientsMatchDifferences(c);
}

TEST(Gradients, WithAWindowInOneLayerAndLinearScaling) {
  ModelConfig c = Small();
  c.windows = {0, 3};
  c.rope = {.type = RopeConfig::Type::kLinear, .theta = 1000, .factor = 2};
  ExpectGradientsMatchDifferences(c);
}

TEST(Gradients, OfATiedMatrixAreTheSumOfItsTwoUses) {
  ModelConfig tied = Small(), untied = Small();
  tied.tied = true;
  const NamedTensors weights = RandomWeights(tied);
  NamedTensors copy = weights;
  copy["lm_head.weight"] = weights.at("model.embed_tokens.weight");
  WholeModel one(tied, weights, {}), two(untied, copy, {});
  EXPECT_EQ(one.Run(RandomBatch(tied), 1), two.Run(RandomBatch(tied), 1));
  const NamedTensors sum = one.Gradients(), parts = two.Gradients();
  for (size_t i = 0; i < sum.at("model.embed_tokens.weight").size(); ++i)
    EXPECT_EQ(sum.at("model.embed_tokens.weight")[i],
              parts.at("model.embed_tokens.weight")[i] + parts.at("lm_head.weight")[i]);
}

TEST(LayerSizes, NeverShrinkAsRowsGrowAndDoNotWrap) {
  ModelConfig c = Small();
  for (int64_t rows = 1; rows < 100; ++rows) {
    EXPECT_LE(KeptFloats(c, rows), KeptFloats(c, rows + 1));
    EXPECT_LE(LayerScratchFloats(c, rows), LayerScratchFloats(c, rows + 1));
    EXPECT_EQ(KeptFloats(c, rows) % 16, 0);
  }
  c.hidden = 16384, c.intermediate = 53248, c.heads = 128, c.kv_heads = 8, c.head_dim = 128, c.vocabulary = 128256;
  EXPECT_GT(LayerScratchFloats(c, 16 * 8192), int64_t{2} * 16 * 8192 * 53248);
  EXPECT_EQ(HeadLogitsFloats(16 * 8192, 128256), int64_t{16} * 8192 * 128256);
}

}  // namespace
}  // namespace tidemill::model
