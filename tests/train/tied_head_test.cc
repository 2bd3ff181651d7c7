// A tied head: one matrix in the file, in memory and in the optimizer, with the gradient of both its uses.
#include <gtest/gtest.h>

#include "tests/train/tiny_run.h"

namespace tidemill::train {
namespace {

constexpr const char* kTable = "model.embed_tokens.weight";
constexpr const char* kHead = "lm_head.weight";

void AddHead(TinyModel& tiny, float first_value_off_by) {
  TinyTensor head = tiny[kTable];
  head.spec.name = kHead;
  head.values[0] += first_value_off_by;
  tiny.tensors.push_back(head);
}

TEST(TiedHead, IsSavedOnceWhetherTheFileHeldItOrNot) {
  TinyRun run;
  TinyModel tiny = TiedTinyModel();
  run.WriteModel(tiny);
  const RunResult without = run.Train();
  ASSERT_TRUE(without.status.has_value()) << without.status.error().message;
  EXPECT_FALSE(run.Weights().contains(kHead));
  AddHead(tiny, 0);
  run.WriteModel(tiny);
  const RunResult with = run.Train();
  ASSERT_TRUE(with.status.has_value()) << with.status.error().message;
  EXPECT_TRUE(with.weights == without.weights) << "a copy of the head was trained too";
  EXPECT_EQ(with.steps[0]["grad_norm"], without.steps[0]["grad_norm"]);
}

TEST(TiedHead, ThatDiffersFromTheEmbeddingIsRefused) {
  TinyRun run;
  TinyModel tiny = TiedTinyModel();
  AddHead(tiny, 0.5F);
  run.WriteModel(tiny);
  const RunResult result = run.Train();
  ASSERT_FALSE(result.status.has_value());
  EXPECT_EQ(result.status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(result.status.error().message.find(kHead), std::string::npos) << result.status.error().message;
}

TEST(UntiedHead, ThatIsMissingIsAnErrorNeverRandom) {
  TinyRun run;
  TinyModel tiny;
  ASSERT_EQ(tiny.tensors.back().spec.name, kHead);
  tiny.tensors.pop_back();
  run.WriteModel(tiny);
  const RunResult result = run.Train();
  ASSERT_FALSE(result.status.has_value());
  EXPECT_EQ(result.status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(result.status.error().message.find(kHead), std::string::npos) << result.status.error().message;
  EXPECT_FALSE(std::filesystem::exists(run.output() + "/model.safetensors"));
}

// After one step a first moment is a tenth of the gradient.
TEST(TiedHead, HasTheSumOfBothGradients) {
  const Flags flags{{"max-grad-norm", "0"}, {"save-strategy", "steps"}, {"save-steps", "1"}};
  const std::string moments = "/checkpoint-1/optimizer/exp_avg.safetensors";
  TinyRun run;
  run.WriteModel(TiedTinyModel());
  ASSERT_TRUE(run.Train(flags).status.has_value());
  const auto tied = TinyRun::ReadTensors(run.output() + moments);
  EXPECT_FALSE(tied.contains(kHead));

  TinyModel untied = TiedTinyModel();
  untied.config["tie_word_embeddings"] = false;
  AddHead(untied, 0);
  run.WriteModel(untied);
  ASSERT_TRUE(run.Train(flags).status.has_value());
  auto expected = TinyRun::ReadTensors(run.output() + moments);
  for (size_t i = 0; i < expected[kTable].size(); ++i) expected[kTable][i] += expected[kHead][i];
  expected.erase(kHead);
  ExpectNear(tied, expected, 1e-7);
}

}  // namespace
}  // namespace tidemill::train
