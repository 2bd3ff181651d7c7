// Plans of shapes far larger than this machine, from their configurations alone.
#include <gtest/gtest.h>

#include "tests/train/tiny_run.h"

namespace tidemill::train {
namespace {

struct Shape {
  int hidden, layers, heads, ffn;
  bool tied;
};
constexpr Shape kLlama1B{2048, 16, 32, 8192, true}, kLlama8B{4096, 32, 32, 14336, false},
    kLlama405B{16384, 126, 128, 53248, false};

nlohmann::json ConfigOf(const Shape& shape) {
  auto config = TinyConfig();
  config["hidden_size"] = shape.hidden;
  config["num_hidden_layers"] = shape.layers;
  config["num_attention_heads"] = shape.heads;
  config["num_key_value_heads"] = 8;
  config["head_dim"] = shape.hidden / shape.heads;
  config["intermediate_size"] = shape.ffn;
  config["vocab_size"] = 128256;
  config["tie_word_embeddings"] = shape.tied;
  return config;
}

class PlanOfShapes : public testing::Test {
 protected:
  PlanReport Plan(const Shape& shape, int batch, int length) {
    TinyRun::Write(run_.model() + "/config.json", ConfigOf(shape).dump());
    const auto report = run_.Plan({{"device", "host:mem=900GiB"},
                                   {"host-memory", "2TiB"},
                                   {"swap-dir", run_.swap()},
                                   {"dtype", "bf16"},
                                   {"max-length", std::to_string(length)},
                                   {"per-device-train-batch-size", std::to_string(batch)}});
    EXPECT_TRUE(report.has_value()) << report.error().message;
    if (!report.has_value()) return {};
    EXPECT_TRUE(report->fits) << report->smallest_change;
    for (const PlanReport::Tier& tier : report->tiers) {
      uint64_t listed = 0;
      for (const auto& [name, bytes] : tier.items) {
        EXPECT_GT(bytes, 0U) << name;
        EXPECT_LT(bytes, uint64_t{1} << 44) << name;
        listed += bytes;
      }
      EXPECT_EQ(listed, tier.peak_bytes);
      EXPECT_LE(tier.peak_bytes, tier.budget_bytes.value_or(0));
    }
    return *report;
  }

  static uint64_t DevicePeak(const PlanReport& report) { return report.tiers[0].peak_bytes; }
  static uint64_t AllPeaks(const PlanReport& report) {
    return report.tiers[0].peak_bytes + report.tiers[1].peak_bytes + report.tiers[2].peak_bytes;
  }

  TinyRun run_;
};

TEST_F(PlanOfShapes, CountParametersOnceAndExactly) {
  EXPECT_EQ(Plan(kLlama1B, 1, 1024).parameters, 1'235'814'400U);
  EXPECT_EQ(Plan(kLlama8B, 1, 1024).parameters, 8'030'261'248U);
  EXPECT_EQ(Plan(kLlama405B, 1, 1024).parameters, 405'853'388'800U);
}

TEST_F(PlanOfShapes, HoldWhatTheOptimizerNeeds) {
  for (const Shape& shape : {kLlama1B, kLlama8B, kLlama405B}) {
    const PlanReport report = Plan(shape, 1, 1024);
    EXPECT_GE(AllPeaks(report), 12 * report.parameters);  // param and rest, two moments
  }
}

TEST_F(PlanOfShapes, GrowWithBatchLengthAndLayers) {
  const uint64_t least = DevicePeak(Plan(kLlama1B, 1, 1024));
  EXPECT_GT(DevicePeak(Plan(kLlama1B, 2, 1024)), least);
  EXPECT_GT(DevicePeak(Plan(kLlama1B, 1, 2048)), least);
  Shape deeper = kLlama1B;
  deeper.layers = 17;
  EXPECT_GT(DevicePeak(Plan(deeper, 1, 1024)), least);
}

// 16 x 8192 x 128256 is beyond 2^33: a product of 32 bits would come out small.
TEST_F(PlanOfShapes, DoNotWrap) {
  const uint64_t less = DevicePeak(Plan(kLlama1B, 8, 8192)), more = DevicePeak(Plan(kLlama1B, 16, 8192));
  EXPECT_GT(more, less);
  EXPECT_GE(more, uint64_t{16} * 8192 * 2048 * 16 * sizeof(float));  // a boundary activation for each layer
}

TEST_F(PlanOfShapes, AreWhatTheRunMoves) {
  run_.WriteModel(TinyModel());
  std::vector<nlohmann::json> rows;
  for (int row = 0; row < 4; ++row) rows.push_back(TinyRow(row, 16, 1));
  run_.WriteRows(rows);
  const Flags flags = run_.Everywhere("nvme") + Flags{{"max-length", "16"}, {"per-device-train-batch-size", "4"}};
  const auto plan = run_.Plan(flags);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  const RunResult result = run_.Train(flags);
  ASSERT_TRUE(result.status.has_value()) << result.status.error().message;
  const auto& moved = result.steps[0]["moved_bytes"];
  size_t lane = 1;
  for (const char* const name : {"upload", "download", "nvme_read", "nvme_write"}) {
    EXPECT_GT(moved[name], 0) << name;
    EXPECT_EQ(moved[name], plan->lanes[lane++].bytes) << name;
  }
  EXPECT_EQ(moved["nvme_write"], plan->nvme_bytes_written_per_step);
  // What is registered with the kernel is said apart, and only where there is something to register it for.
  EXPECT_GT(plan->pinned_bytes, 0U);
  EXPECT_LT(plan->pinned_bytes, plan->tiers[1].peak_bytes);
  EXPECT_EQ(run_.Plan(run_.Everywhere("host")).value_or(PlanReport{}).pinned_bytes, 0U);
}

TEST_F(PlanOfShapes, GiveFrozenTensorsNoState) {
  run_.WriteModel(TinyModel());
  const Flags on_device = run_.Everywhere("device");
  const auto all = run_.Plan(on_device), half = run_.Plan(on_device + Flags{{"freeze", "embed_tokens"}});
  ASSERT_TRUE(all.has_value() && half.has_value());
  EXPECT_EQ(all->parameters, half->parameters);
  EXPECT_EQ(all->trainable_parameters - half->trainable_parameters, 300U * 48);
  auto moments = [](const PlanReport& report) {
    uint64_t bytes = 0;
    for (const auto& [name, size] : report.tiers[0].items) bytes += name.starts_with("exp_avg") ? size : 0;
    return bytes;
  };
  EXPECT_GE(moments(*all) - moments(*half), 2U * 300 * 48 * 4);
}

TEST_F(PlanOfShapes, AFreezePatternThatWouldBacktrackForEverTakesItsTurn) {
  run_.WriteModel(TinyModel());
  for (const auto& [pattern, text] : {std::pair("([a-z_.]+)+Q", "is found in no tensor's name"),
                                      {"(a+)+$", "is found in no tensor's name"},
                                      {"(l)\\1", "is not a regular expression"}}) {
    const auto plan = run_.Plan({{"freeze", pattern}});
    ASSERT_FALSE(plan.has_value()) << pattern;
    EXPECT_EQ(plan.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(plan.error().message.find(text), std::string::npos) << plan.error().message;
  }
}

}  // namespace
}  // namespace tidemill::train
