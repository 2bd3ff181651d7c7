// Resuming from whatever a disk, a kill or a hand has left in the output folder.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/train/golden_run.h"

namespace tidemill::train {
namespace {

namespace fs = std::filesystem;
using Flags = std::vector<std::pair<std::string, std::string>>;

class Resume : public testing::Test {
 protected:
  static Flags SaveEvery(const std::string& steps, const std::string& max_steps) {
    return {{"save-strategy", "steps"}, {"save-steps", steps}, {"max-steps", max_steps}};
  }
  static Flags Continue(const std::string& max_steps, const std::string& from = "auto") {
    return {{"resume-from-checkpoint", from}, {"max-steps", max_steps}};
  }
  std::string Checkpoint(int step) const { return run_.output() + "/checkpoint-" + std::to_string(step); }
  static void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  // The value of a key of the newest checkpoint's state, as text.
  void SetState(int step, const std::string& key, const std::string& value) const {
    auto state = nlohmann::ordered_json::parse(GoldenRun::Read(Checkpoint(step) + "/trainer_state.json"));
    state[key] = nlohmann::ordered_json::parse(value);
    Write(Checkpoint(step) + "/trainer_state.json", state.dump());
  }

  const GoldenRun run_{"llama_gqa_tied_f32"};
};

TEST_F(Resume, AutoPassesOverACheckpointThatIsNotWholeAndEndsWithTheSameBits) {
  const RunResult whole = run_.Train(SaveEvery("2", "6"));
  ASSERT_TRUE(whole.status.has_value()) << whole.status.error().message;
  for (const char* damage : {"missing moments", "cut master", "torn state", "no weights"}) {
    ASSERT_TRUE(run_.Train(SaveEvery("2", "6")).status.has_value());
    const std::string newest = Checkpoint(6);
    if (std::string(damage) == "missing moments") fs::remove(newest + "/optimizer/exp_avg.safetensors");
    if (std::string(damage) == "cut master") fs::resize_file(newest + "/optimizer/master.safetensors", 5000);
    if (std::string(damage) == "torn state") Write(newest + "/trainer_state.json", "{\"global_st");
    if (std::string(damage) == "no weights") fs::remove(newest + "/model.safetensors");
    const RunResult resumed = run_.Train(Continue("6"), false);
    ASSERT_TRUE(resumed.status.has_value()) << damage << ": " << resumed.status.error().message;
    EXPECT_EQ(resumed.steps.size(), 6U) << damage;
    EXPECT_TRUE(resumed.weights == whole.weights) << damage;
  }
}

TEST_F(Resume, AutoStartsAnewWhenNoCheckpointIsWhole) {
  fs::create_directories(Checkpoint(3));
  fs::create_directories(run_.output() + "/checkpoint-4.partial");
  Write(Checkpoint(9), "a file");
  const RunResult result = run_.Train(Continue("2"), false);
  ASSERT_TRUE(result.status.has_value()) << result.status.error().message;
  EXPECT_EQ(result.steps.size(), 2U);
  EXPECT_FALSE(fs::exists(run_.output() + "/checkpoint-4.partial"));
}

TEST_F(Resume, RefusesANamedCheckpointThatIsNotWhole) {
  ASSERT_TRUE(run_.Train(SaveEvery("2", "2")).status.has_value());
  fs::remove(Checkpoint(2) + "/optimizer/master.safetensors");
  const RunResult result = run_.Train(Continue("4", Checkpoint(2)), false);
  ASSERT_FALSE(result.status.has_value());
  EXPECT_NE(result.status.error().message.find("master.safetensors"), std::string::npos);
}

TEST_F(Resume, RefusesStepsThatNoRunReaches) {
  ASSERT_TRUE(run_.Train(SaveEvery("2", "2")).status.has_value());
  for (const auto& [key, value] : Flags{{"global_step", "-5"},
                                        {"global_step", "1e300"},
                                        {"global_step", "2.5"},
                                        {"global_step", "18446744073709551615"},
                                        {"applied_steps", "-1"},
                                        {"applied_steps", "3"},
                                        {"epoch", "-1"}}) {
    const std::string before = GoldenRun::Read(Checkpoint(2) + "/trainer_state.json");
    SetState(2, key, value);
    const RunResult result = run_.Train(Continue("4", Checkpoint(2)), false);
    ASSERT_FALSE(result.status.has_value()) << key << " " << value;
    EXPECT_EQ(result.status.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(result.status.error().message.find(key), std::string::npos) << result.status.error().message;
    Write(Checkpoint(2) + "/trainer_state.json", before);
  }
}

TEST_F(Resume, CutsMetricsThatAreNoStepsOfTheRun) {
  ASSERT_TRUE(run_.Train(SaveEvery("2", "2")).status.has_value());
  std::ofstream(run_.output() + "/metrics.jsonl", std::ios::app) << "{\"step\":\"x\"}\n{\"step\":7}\n[1]\nnoise\n{\"st";
  const RunResult result = run_.Train(Continue("3"), false);
  ASSERT_TRUE(result.status.has_value()) << result.status.error().message;
  const std::string metrics = GoldenRun::Read(run_.output() + "/metrics.jsonl");
  EXPECT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), 3);
  EXPECT_EQ(result.steps.size(), 3U);
}

TEST_F(Resume, TheLimitNeverRemovesTheCheckpointJustSaved) {
  ASSERT_TRUE(run_.Train(SaveEvery("3", "3")).status.has_value());
  Flags limited = SaveEvery("1", "1");
  limited.push_back({"save-total-limit", "1"});
  ASSERT_TRUE(run_.Train(limited, false).status.has_value());
  EXPECT_TRUE(fs::exists(Checkpoint(1) + "/trainer_state.json"));
  EXPECT_FALSE(fs::exists(Checkpoint(3)));
}

TEST_F(Resume, SavingTheSameStepAgainReplacesTheCheckpointWhole) {
  ASSERT_TRUE(run_.Train(SaveEvery("2", "2")).status.has_value());
  Write(Checkpoint(2) + "/of_the_old_one", "x");
  ASSERT_TRUE(run_.Train(SaveEvery("2", "2"), false).status.has_value());
  EXPECT_FALSE(fs::exists(Checkpoint(2) + "/of_the_old_one"));
  for (const auto& entry : fs::directory_iterator(run_.output()))
    EXPECT_FALSE(entry.path().filename().string().ends_with(".partial")) << entry.path();
}

TEST_F(Resume, RefusesEvaluationDataWithoutATargetBeforeTraining) {
  const std::string rows = run_.swap() + "/eval.jsonl";
  Write(rows, "{\"input_ids\":[1]}\n{\"input_ids\":[1,2],\"labels\":[-100,-100]}\n");
  const RunResult result = run_.Train({{"max-steps", "1"}, {"eval-data", rows}});
  ASSERT_FALSE(result.status.has_value());
  EXPECT_EQ(result.status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(result.steps.empty());
}

TEST_F(Resume, WeightsThatOverflowedInTheLastStepAreNotSaved) {
  ASSERT_TRUE(run_.Train(SaveEvery("1", "1")).status.has_value());
  const std::string before = GoldenRun::Read(run_.output() + "/model.safetensors");
  Flags flags = Continue("2");
  flags.insert(flags.end(), {{"learning-rate", "1e300"}, {"warmup-steps", "0"}, {"lr-scheduler-type", "constant"}});
  const RunResult result = run_.Train(flags, false);
  ASSERT_FALSE(result.status.has_value());
  EXPECT_EQ(result.status.error().code, ErrorCode::kNotFinite);
  EXPECT_TRUE(GoldenRun::Read(run_.output() + "/model.safetensors") == before);
}

TEST_F(Resume, ABatchBeyondTheDataNeedsNoMemoryForRowsThatAreNotThere) {
  const RunResult result = run_.Train({{"max-steps", "1"}, {"per-device-train-batch-size", "1000000000"}});
  ASSERT_TRUE(result.status.has_value()) << result.status.error().message;
}

}  // namespace
}  // namespace tidemill::train
