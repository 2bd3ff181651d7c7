// The loss is a mean over the supervised tokens of the whole window: however it is cut into micro-batches, whatever
// surrounds a sequence, in training and in evaluation.
#include <gtest/gtest.h>

#include "tests/train/tiny_run.h"

namespace tidemill::train {
namespace {

Flags Split(int micro, int accumulation) {
  return {{"per-device-train-batch-size", std::to_string(micro)},
          {"gradient-accumulation-steps", std::to_string(accumulation)}};
}

void ExpectSameStep(const RunResult& a, const RunResult& b) {
  ASSERT_TRUE(a.status.has_value()) << a.status.error().message;
  ASSERT_TRUE(b.status.has_value()) << b.status.error().message;
  EXPECT_NEAR(Loss(a) / Loss(b), 1, 1e-6);
  EXPECT_NEAR(Norm(a) / Norm(b), 1, 1e-6);
  EXPECT_EQ(a.steps[0]["supervised_tokens"], b.steps[0]["supervised_tokens"]);
}

TEST(LossWindow, CountsTokensNotMicroBatches) {
  TinyRun run;
  run.WriteModel(TinyModel());
  const auto short_row = TinyRow(1, 4, 1), long_row = TinyRow(2, 10, 1);  // 3 and 9 supervised tokens
  run.WriteRows({short_row});
  const auto short_alone = run.Eval();
  run.WriteRows({long_row});
  const auto long_alone = run.Eval();
  ASSERT_TRUE(short_alone.has_value() && long_alone.has_value());
  ASSERT_EQ(short_alone->supervised_tokens, 3);
  ASSERT_EQ(long_alone->supervised_tokens, 9);
  const double by_tokens = (3 * short_alone->loss + 9 * long_alone->loss) / 12;
  const double by_batches = (short_alone->loss + long_alone->loss) / 2;
  ASSERT_GT(std::abs(by_tokens - by_batches), 1e-4);

  run.WriteRows({short_row, long_row});
  const RunResult together = run.Train(Split(2, 1));
  const auto together_weights = run.Weights();
  const RunResult apart = run.Train(Split(1, 2));
  ExpectSameStep(together, apart);
  EXPECT_NEAR(Loss(together), by_tokens, 1e-6 * by_tokens);
  ExpectNear(together_weights, run.Weights(), 1e-6);
}

TEST(LossWindow, FourTimesTheSameSampleIsThatSample) {
  TinyRun run;
  run.WriteModel(TinyModel());
  const auto row = TinyRow(1, 9, 2);
  run.WriteRows({row, row, row, row});
  const RunResult one = run.Train(Split(1, 1));
  const auto one_weights = run.Weights();
  const RunResult four = run.Train(Split(1, 4));
  ASSERT_TRUE(one.status.has_value() && four.status.has_value());
  EXPECT_NEAR(Loss(four) / Loss(one), 1, 1e-6);
  EXPECT_NEAR(Norm(four) / Norm(one), 1, 1e-6);
  ExpectNear(one_weights, run.Weights(), 1e-6);
}

// A store that kept the first micro-batch's gradient, or the last one's, would be far off; so would bf16 accumulators.
TEST(LossWindow, EveryMicroBatchCountsWhereverTheOptimizerLives) {
  TinyRun run;
  run.WriteModel(TinyModel());
  const RunResult whole = run.Train(Split(4, 1));
  const auto whole_weights = run.Weights();
  for (const char* tier : {"host", "nvme"}) {
    const Flags placed = run.Everywhere(tier);
    ExpectSameStep(whole, run.Train(placed + Split(1, 4)));
    ExpectNear(whole_weights, run.Weights(), 1e-6);
    ExpectSameStep(whole, run.Train(placed + Split(1, 4) + Flags{{"group-size", "1"}}));
    ExpectNear(whole_weights, run.Weights(), 1e-6);
  }
  run.WriteRows({TinyRow(3, 17, 2), TinyRow(4, 5, 1), TinyRow(1, 12, 1), TinyRow(2, 7, 3)});
  ExpectSameStep(whole, run.Train(run.Everywhere("nvme") + Split(1, 4)));
  ExpectNear(whole_weights, run.Weights(), 1e-6);
}

TEST(LossWindow, FiveHundredAndTwelveEqualGradientsAddUpInBf16) {
  TinyRun run;
  run.WriteModel(TinyModel());
  run.WriteRows(std::vector<nlohmann::json>(512, TinyRow(1, 3, 1)));
  const RunResult one = run.Train(Split(1, 1) + Flags{{"dtype", "bf16"}});
  const RunResult many = run.Train(Split(1, 512) + Flags{{"dtype", "bf16"}});
  ASSERT_TRUE(one.status.has_value()) << one.status.error().message;
  ASSERT_TRUE(many.status.has_value()) << many.status.error().message;
  EXPECT_EQ(many.steps[0]["supervised_tokens"], 1024);
  EXPECT_NEAR(Norm(many) / Norm(one), 1, 1e-3);  // an accumulator of 8 bits stalls at 256
}

TEST(LossWindow, EvaluationDoesNotDependOnTheBatch) {
  TinyRun run;
  run.WriteModel(TinyModel());
  std::vector<nlohmann::json> rows;
  for (int i = 0; i < 7; ++i) rows.push_back(TinyRow(i, 3 + i * 5 % 37, 1 + i % 2));
  run.WriteRows(rows);
  const auto alone = run.Eval();
  ASSERT_TRUE(alone.has_value()) << alone.error().message;
  EXPECT_TRUE(std::isfinite(alone->loss));
  for (const char* batch : {"2", "3", "7"}) {
    const auto report = run.Eval({{"per-device-eval-batch-size", batch}});
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_NEAR(report->loss / alone->loss, 1, 1e-6) << batch;
    EXPECT_EQ(report->supervised_tokens, alone->supervised_tokens);
    EXPECT_EQ(report->tokens, alone->tokens);
    EXPECT_EQ(report->sequences, 7);
  }
}

// No token is masked for its value: not the end of a text although there is no other padding token, not id 0.
TEST(LossWindow, EveryTextHasItsEndSupervisedAndNoPadding) {
  TinyRun run;
  TinyModel tiny;
  tiny.config["pad_token_id"] = 0;
  tiny.config["eos_token_id"] = 257;
  run.WriteModel(tiny);
  run.WriteTokenizer({.added = "[" + data::Added(257, "<end>") + "]"});
  const nlohmann::json first{{"text", "abc"}}, second{{"text", std::string("de\0fgjklmn", 10)}};
  std::vector<double> sums;
  for (const auto& row : {first, second}) {
    run.WriteRows({row});
    const auto alone = run.Eval();
    ASSERT_TRUE(alone.has_value()) << alone.error().message;
    sums.push_back(alone->loss * static_cast<double>(alone->supervised_tokens));
  }
  run.WriteRows({first, second});
  const RunResult result = run.Train(Split(2, 1));
  ASSERT_TRUE(result.status.has_value()) << result.status.error().message;
  // 3 tokens and an end, 10 and an end, the first of each without anything before it.
  EXPECT_EQ(result.steps[0]["supervised_tokens"], 13);
  EXPECT_EQ(result.steps[0]["tokens"], 15);
  EXPECT_NEAR(Loss(result), (sums[0] + sums[1]) / 13, 1e-5);
}

// Text of others that spells a control token becomes one, so its reader is told.
TEST(TrainingTexts, ThatSpellOutSpecialTokensAreCountedInTheLog) {
  TinyRun run;
  run.WriteModel(TinyModel());
  run.WriteTokenizer({.added = "[" + data::Added(257, "<end>") + "]"});
  const auto log_of = [&](const std::string& file, const std::string& text) {
    TinyRun::Write(file, text);
    testing::internal::CaptureStderr();
    const RunResult result = run.Train({{"train-data", file}});
    std::string said = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(result.status.has_value()) << result.status.error().message;
    return said;
  };
  const std::string jsonl = run.work() + "/text.jsonl", txt = run.work() + "/text.txt";
  const std::string three = "the training texts spell out 3 special tokens";
  EXPECT_NE(log_of(jsonl, "{\"text\":\"a<end>b<end>\"}\n{\"text\":\"<end>c\"}\n").find(three), std::string::npos);
  EXPECT_NE(log_of(txt, "a<end>b<end>\n<end>c\n").find(three), std::string::npos);
  EXPECT_EQ(log_of(jsonl, "{\"text\":\"an end\"}\n").find("special token"), std::string::npos);
}

}  // namespace
}  // namespace tidemill::train
