#include "model/tensors.h"

#include <gtest/gtest.h>

#include <set>

namespace tidemill::model {
namespace {

ModelConfig Shape(int64_t vocabulary, int64_t hidden, int64_t intermediate, int64_t layers, int64_t heads,
                  int64_t kv_heads, int64_t head_dim, bool tied) {
  ModelConfig c;
  c.vocabulary = vocabulary, c.hidden = hidden, c.intermediate = intermediate, c.layers = layers;
  c.heads = heads, c.kv_heads = kv_heads, c.head_dim = head_dim, c.tied = tied;
  c.windows.assign(static_cast<size_t>(layers), 0);
  return c;
}

int64_t ParameterCount(const ModelConfig& config) {
  int64_t count = 0;
  for (const TensorInfo& tensor : ModelTensors(config)) count += tensor.elements();
  return count;
}

TEST(ModelTensors, CountsOfKnownModelsAreRight) {
  EXPECT_EQ(ParameterCount(Shape(128256, 4096, 14336, 32, 32, 8, 128, false)), 8030261248);
  EXPECT_EQ(ParameterCount(Shape(128256, 16384, 53248, 126, 128, 8, 128, false)), 405853388800);
  EXPECT_EQ(ParameterCount(Shape(128256, 2048, 8192, 16, 32, 8, 64, true)), 1235814400);
  EXPECT_EQ(ParameterCount(Shape(49152, 576, 1536, 30, 9, 3, 64, true)), 134515008);
}

TEST(ModelTensors, SmolLM2Has272OfDifferentNames) {
  const auto tensors = ModelTensors(Shape(49152, 576, 1536, 30, 9, 3, 64, true));
  std::set<std::string> names;
  for (const TensorInfo& t : tensors) names.insert(t.name);
  EXPECT_EQ(tensors.size(), 272U);
  EXPECT_EQ(names.size(), 272U);
  EXPECT_TRUE(names.contains("model.embed_tokens.weight") && names.contains("model.norm.weight"));
  EXPECT_TRUE(names.contains("model.layers.29.post_attention_layernorm.weight"));
  EXPECT_FALSE(names.contains("lm_head.weight"));
}

TEST(ModelTensors, EveryRoleOfALayerHasItsOwnName) {
  ModelConfig c = Shape(10, 8, 12, 1, 2, 1, 6, false);
  c.qkv_bias = c.output_bias = c.mlp_bias = c.qk_norm = true;
  std::set<Role> roles;
  for (const TensorInfo& t : LayerTensors(c, 0)) roles.insert(t.role);
  EXPECT_EQ(roles.size(), kLayerRoles);
  for (const TensorInfo& t : LayerTensors(c, 0)) {
    if (t.role == Role::kKBias) {
      EXPECT_EQ(t.name, "model.layers.0.self_attn.k_proj.bias");
    }
    if (t.role == Role::kDownBias) {
      EXPECT_EQ(t.name, "model.layers.0.mlp.down_proj.bias");
    }
    if (t.role == Role::kQNorm) {
      EXPECT_EQ(t.rows, 6);
    }
  }
}

TEST(ModelTensors, OnlyMatricesDecay) {
  ModelConfig c = Shape(10, 8, 12, 1, 2, 1, 6, false);
  c.qkv_bias = true;
  for (const TensorInfo& t : ModelTensors(c)) {
    const bool vector = t.name.find("norm") != std::string::npos || t.name.ends_with(".bias");
    EXPECT_EQ(t.matrix, !vector) << t.name;
  }
}

TEST(VocabularySlices, AreNoLargerThanTheLargestMatrixOfALayer) {
  const ModelConfig smollm2 = Shape(49152, 576, 1536, 30, 9, 3, 64, true);
  EXPECT_EQ(VocabularySliceRows(smollm2), 1536);
  const ModelConfig tiny = Shape(320, 64, 172, 2, 4, 2, 16, true);
  EXPECT_EQ(VocabularySliceRows(tiny), 172);
  EXPECT_EQ(VocabularySliceRows(Shape(100, 64, 172, 2, 4, 2, 16, true)), 100);
}

TEST(VocabularySlices, OfAHugeVocabularyBesideTinyLayersAreAtMost1024) {
  EXPECT_EQ(VocabularySliceRows(Shape(200001, 8, 16, 1, 1, 1, 8, true)), 196);
}

}  // namespace
}  // namespace tidemill::model
