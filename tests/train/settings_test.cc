// Settings as they reach the numbers of a run: schedules, clipping, knobs of the tiers, spellings of a configuration.
#include <gtest/gtest.h>

#include "tests/train/tiny_run.h"

namespace tidemill::train {
namespace {

std::vector<double> Rates(const RunResult& result) {
  EXPECT_TRUE(result.status.has_value()) << result.status.error().message;
  std::vector<double> rates;
  for (const auto& step : result.steps) rates.push_back(step["learning_rate"].get<double>());
  return rates;
}

TEST(Settings, TheRatesOfARunStayWithinBoundsAtEveryWarmup) {
  TinyRun run;
  run.WriteModel(TinyModel());
  for (const int total : {1, 2, 6}) {
    for (const int warmup : {0, 1, 2, total, total + 1}) {
      const std::vector<double> rates = Rates(run.Train({{"max-steps", std::to_string(total)},
                                                         {"lr-scheduler-type", "cosine"},
                                                         {"warmup-steps", std::to_string(warmup)}}));
      ASSERT_EQ(rates.size(), static_cast<size_t>(total));
      for (size_t i = 0; i < rates.size(); ++i) {
        EXPECT_TRUE(rates[i] >= 0 && rates[i] <= 1e-2) << warmup << " of " << total;
        if (static_cast<int>(i) <= warmup) continue;
        EXPECT_LE(rates[i], rates[i - 1]) << warmup << " of " << total;
      }
      if (total != 6 || warmup != 2) continue;
      const std::vector<double> expected{0, 0.5, 1, 0.853553, 0.5, 0.146447};
      for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(rates[i], 1e-2 * expected[i], 1e-8) << i;
    }
  }
}

// A first moment after one step is a tenth of the gradient that was applied.
TEST(Settings, ClippingBoundsTheGradientThatIsAppliedAndReportsTheOneBefore) {
  TinyRun run;
  run.WriteModel(TinyModel());
  const RunResult result = run.Train({{"max-grad-norm", "0.25"}, {"save-strategy", "steps"}, {"save-steps", "1"}});
  ASSERT_TRUE(result.status.has_value()) << result.status.error().message;
  EXPECT_GT(Norm(result), 0.5);
  double squares = 0;
  for (const auto& [name, values] : TinyRun::ReadTensors(run.output() + "/checkpoint-1/optimizer/exp_avg.safetensors"))
    for (const float value : values) squares += 100.0 * value * value;
  EXPECT_NEAR(std::sqrt(squares), 0.25, 1e-5);
}

TEST(Settings, NeitherTierNorLookAheadNorRecomputeChangesABit) {
  TinyRun run;
  run.WriteModel(TinyModel());
  const Flags steps{{"max-steps", "3"}, {"max-grad-norm", "0.5"}, {"per-device-train-batch-size", "2"}};
  const RunResult first = run.Train(steps);
  ASSERT_TRUE(first.status.has_value()) << first.status.error().message;
  const Flags swap{{"swap-dir", run.swap()}};
  for (const Flags& placed : {run.Everywhere("host"), swap + Flags{{"place-optimizer", "nvme"}},
                              swap + Flags{{"place-params", "nvme"}}, run.Everywhere("nvme")}) {
    for (const auto& [depth, recompute] : Flags{{"0", "true"}, {"1", "false"}, {"4", "true"}, {"8", "false"}}) {
      const std::string what = placed.back().second + ", depth " + depth + ", recompute " + recompute;
      const RunResult other =
          run.Train(steps + placed + Flags{{"prefetch-depth", depth}, {"activation-checkpointing", recompute}});
      ASSERT_TRUE(other.status.has_value()) << what << ": " << other.status.error().message;
      for (size_t i = 0; i < first.steps.size(); ++i) {
        EXPECT_EQ(first.steps[i]["loss"], other.steps[i]["loss"]) << what;
        EXPECT_EQ(first.steps[i]["grad_norm"], other.steps[i]["grad_norm"]) << what;
      }
      EXPECT_TRUE(first.weights == other.weights) << what;
    }
  }
}

TEST(Settings, EveryTensorMovesOnNvmeAsInMemoryWhateverTheTile) {
  TinyRun run;
  TinyModel tiny;
  run.WriteModel(tiny);
  const RunResult memory = run.Train();
  ASSERT_TRUE(memory.status.has_value()) << memory.status.error().message;
  for (const auto& [name, values] : run.Weights()) EXPECT_NE(values, tiny[name].values) << name;
  for (const char* tile : {"4KiB", "64KiB", "1MiB", "1GiB"}) {
    const RunResult nvme = run.Train(run.Everywhere("nvme") + Flags{{"tile-size", tile}});
    ASSERT_TRUE(nvme.status.has_value()) << nvme.status.error().message;
    EXPECT_TRUE(nvme.weights == memory.weights) << tile;
  }
}

TEST(Settings, RopeSettingsMeanTheSameInEverySpelling) {
  TinyRun run;
  TinyModel tiny;
  auto loss_of = [&](const nlohmann::json& scaling) {
    tiny.config["rope_scaling"] = scaling;
    run.WriteModel(tiny);
    const auto report = run.Eval();
    EXPECT_TRUE(report.has_value()) << report.error().message;
    return report.has_value() ? report->loss : 0;
  };
  const double plain = loss_of(nullptr);
  EXPECT_EQ(loss_of({{"rope_type", "default"}}), plain);
  const double linear = loss_of({{"type", "linear"}, {"factor", 2.0}});
  EXPECT_EQ(loss_of({{"rope_type", "linear"}, {"factor", 2.0}}), linear);
  EXPECT_NE(linear, plain);
  EXPECT_NE(loss_of({{"rope_type", "llama3"},
                     {"factor", 32.0},
                     {"low_freq_factor", 1.0},
                     {"high_freq_factor", 4.0},
                     {"original_max_position_embeddings", 8192}}),
            plain);
  tiny.config["rope_scaling"] = {{"rope_type", "foo"}, {"factor", 2.0}};
  run.WriteModel(tiny);
  const auto refused = run.Eval();
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("rope_type"), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find("foo"), std::string::npos) << refused.error().message;
}

TEST(Settings, IdsBeyondTheEmbeddingAreNamedBeforeTheFirstStep) {
  TinyRun run;
  run.WriteModel(TinyModel());
  run.WriteTokenizer({.added = "[" + data::Added(300, "<pad>") + "," + data::Added(257, "<end>") + "]"});
  run.WriteRows({{{"text", "fine"}}, {{"text", "a <pad> too far"}}});
  const RunResult text = run.Train({{"max-steps", "2"}, {"per-device-train-batch-size", "1"}});
  ASSERT_FALSE(text.status.has_value());
  EXPECT_NE(text.status.error().message.find("300"), std::string::npos) << text.status.error().message;
  EXPECT_FALSE(std::filesystem::exists(run.output() + "/metrics.jsonl"));
  EXPECT_FALSE(run.Generate("a <pad>").has_value());
  for (const int id : {-1, 300, 1 << 30}) {
    run.WriteRows({TinyRow(1, 5, 1), {{"input_ids", {1, 2, id}}}});
    const RunResult ids = run.Train();
    ASSERT_FALSE(ids.status.has_value()) << id;
    EXPECT_NE(ids.status.error().message.find("rows.jsonl:2"), std::string::npos) << ids.status.error().message;
  }
}

}  // namespace
}  // namespace tidemill::train
