// Checkpoints: a resumed run is the unbroken one, what is not whole is not resumed, and a signal loses nothing.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/train/tiny_run.h"

namespace tidemill::train {
namespace {

namespace fs = std::filesystem;

const Flags kBf16Saving{{"dtype", "bf16"},
                        {"max-steps", "6"},
                        {"lr-scheduler-type", "cosine"},
                        {"weight-decay", "0.1"},
                        {"per-device-train-batch-size", "2"},
                        {"shuffle", "true"},
                        {"save-strategy", "steps"},
                        {"save-steps", "3"}};
const Flags kResume{{"resume-from-checkpoint", "auto"}};

void ExpectSameEnd(const RunResult& whole, const RunResult& resumed) {
  ASSERT_TRUE(resumed.status.has_value()) << resumed.status.error().message;
  ASSERT_EQ(whole.steps.size(), resumed.steps.size());
  for (size_t i = 0; i < whole.steps.size(); ++i) {
    for (const char* key : {"step", "loss", "grad_norm", "learning_rate", "epoch", "supervised_tokens"})
      EXPECT_EQ(whole.steps[i][key], resumed.steps[i][key]) << key << ", step " << i + 1;
  }
  EXPECT_TRUE(whole.weights == resumed.weights);
}

int OpenFiles() { return static_cast<int>(std::distance(fs::directory_iterator("/proc/self/fd"), {})); }

TEST(Recovery, ThreeStepsAndThreeMoreAreSixOnEveryTier) {
  TinyRun run;
  run.WriteModel(TinyModel(TinyConfig(), DType::kBf16));
  const RunResult whole = run.Train(kBf16Saving);
  ASSERT_TRUE(whole.status.has_value()) << whole.status.error().message;
  for (const char* tier : {"device", "host", "nvme"}) {
    const Flags placed = kBf16Saving + run.Everywhere(tier);
    ASSERT_TRUE(run.Train(placed).status.has_value());
    fs::remove_all(run.output() + "/checkpoint-6");
    ExpectSameEnd(whole, run.Train(placed + kResume, false));
  }
  // The state is needed: starting from the weights alone ends elsewhere.
  const std::string third = run.work() + "/third";
  fs::rename(run.output() + "/checkpoint-3", third);
  const RunResult cold = run.Train(kBf16Saving + Flags{{"model", third}});
  ASSERT_TRUE(cold.status.has_value()) << cold.status.error().message;
  EXPECT_FALSE(whole.weights == cold.weights);
}

TEST(Recovery, ACheckpointWithoutItsOptimizerStateIsRefused) {
  TinyRun run;
  run.WriteModel(TinyModel());
  ASSERT_TRUE(run.Train(kBf16Saving).status.has_value());
  for (const char* name : {"exp_avg_sq", "exp_avg", "master"}) {
    const std::string path = run.output() + "/checkpoint-6/optimizer/" + name + ".safetensors";
    fs::remove(path);
    // Named by its path; auto passes over a checkpoint that is not whole (resume_test.cc).
    const RunResult result =
        run.Train(kBf16Saving + Flags{{"resume-from-checkpoint", run.output() + "/checkpoint-6"}}, false);
    ASSERT_FALSE(result.status.has_value()) << name;
    EXPECT_NE(result.status.error().message.find(path), std::string::npos) << result.status.error().message;
  }
}

TEST(Recovery, WhatAKillLeftIsPassedByAndRemoved) {
  TinyRun run;
  run.WriteModel(TinyModel());
  const RunResult whole = run.Train(kBf16Saving);
  ASSERT_TRUE(whole.status.has_value()) << whole.status.error().message;
  fs::rename(run.output() + "/checkpoint-6", run.output() + "/checkpoint-6.partial");
  fs::remove(run.output() + "/checkpoint-6.partial/trainer_state.json");
  TinyRun::Write(run.output() + "/metrics.jsonl", GoldenRun::Read(run.output() + "/metrics.jsonl") + "{\"step\": 7, ");
  ExpectSameEnd(whole, run.Train(kBf16Saving + kResume, false));
  EXPECT_FALSE(fs::exists(run.output() + "/checkpoint-6.partial"));
}

TEST(Recovery, TwentySavesKeepOneCheckpointAndNoFileOpen) {
  TinyRun run;
  run.WriteModel(TinyModel());
  ASSERT_TRUE(run.Train().status.has_value());
  const int before = OpenFiles();
  const RunResult result =
      run.Train({{"max-steps", "20"}, {"save-strategy", "steps"}, {"save-steps", "1"}, {"save-total-limit", "1"}});
  ASSERT_TRUE(result.status.has_value()) << result.status.error().message;
  EXPECT_EQ(OpenFiles(), before);
  int checkpoints = 0;
  for (const auto& entry : fs::directory_iterator(run.output()))
    checkpoints += entry.path().filename().string().starts_with("checkpoint-") ? 1 : 0;
  EXPECT_EQ(checkpoints, 1);
  EXPECT_TRUE(fs::exists(run.output() + "/checkpoint-20/optimizer/master.safetensors"));
}

TEST(Recovery, FrozenTensorsAreInEveryCheckpointAndStayAsTheyWere) {
  TinyRun run;
  run.WriteModel(TinyModel(TinyConfig(), DType::kBf16));
  const Flags frozen{{"freeze", "model.embed_tokens|layers.0"}};
  const RunResult whole = run.Train(kBf16Saving + frozen);
  ASSERT_TRUE(whole.status.has_value()) << whole.status.error().message;
  fs::remove_all(run.output() + "/checkpoint-6");
  ExpectSameEnd(whole, run.Train(kBf16Saving + frozen + kResume, false));
  const auto before = TinyRun::ReadTensors(run.model() + "/model.safetensors");
  const auto saved = TinyRun::ReadTensors(run.output() + "/checkpoint-3/model.safetensors");
  const auto after = run.Weights();
  const auto state = TinyRun::ReadTensors(run.output() + "/checkpoint-3/optimizer/exp_avg.safetensors");
  ASSERT_EQ(after.size(), before.size());
  for (const auto& [name, values] : before) {
    const bool is_frozen = name.find("embed_tokens") != std::string::npos || name.find("layers.0") != std::string::npos;
    EXPECT_EQ(after.at(name) == values, is_frozen) << name;
    EXPECT_EQ(saved.at(name) == values, is_frozen) << name;
    EXPECT_EQ(state.contains(name), !is_frozen) << name;
  }
  const RunResult nothing = run.Train({{"freeze", "."}});
  ASSERT_FALSE(nothing.status.has_value());
  EXPECT_NE(nothing.status.error().message.find("--freeze"), std::string::npos) << nothing.status.error().message;
}

TEST(Recovery, ARunThatIsDoneIsLeftAsItIs) {
  TinyRun run;
  run.WriteModel(TinyModel());
  const RunResult whole = run.Train(kBf16Saving);
  ASSERT_TRUE(whole.status.has_value()) << whole.status.error().message;
  const std::string results = GoldenRun::Read(run.output() + "/train_results.json");
  for (const char* steps : {"6", "4"}) {
    testing::internal::CaptureStderr();
    ExpectSameEnd(whole, run.Train(kBf16Saving + kResume + Flags{{"max-steps", steps}}, false));
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find(std::string("nothing to train: step 6 is done, and the run has ") + steps), std::string::npos)
        << said;
    EXPECT_EQ(GoldenRun::Read(run.output() + "/train_results.json"), results);
  }
}

TEST(Recovery, AnotherNumberOfStepsIsSaidAndStretchesTheSchedule) {
  TinyRun run;
  run.WriteModel(TinyModel());
  const Flags cosine{{"lr-scheduler-type", "cosine"}, {"save-strategy", "steps"}, {"save-steps", "4"}};
  ASSERT_TRUE(run.Train(cosine + Flags{{"max-steps", "4"}}).status.has_value());
  testing::internal::CaptureStderr();
  const RunResult longer = run.Train(cosine + Flags{{"max-steps", "8"}} + kResume, false);
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(longer.status.has_value()) << longer.status.error().message;
  EXPECT_NE(said.find("the number of steps changes from 4 to 8"), std::string::npos) << said;
  ASSERT_EQ(longer.steps.size(), 8U);
  for (const size_t step : {4U, 5U, 6U, 7U})
    EXPECT_NEAR(longer.steps[step]["learning_rate"].get<double>(),
                1e-2 * 0.5 * (1 + std::cos(M_PI * static_cast<double>(step) / 8)), 1e-9);
}

TEST(Recovery, WeightsThatAreNotFiniteEndTheRunAndNothingIsSaved) {
  TinyRun run;
  for (const float wrong : {INFINITY, NAN}) {
    TinyModel tiny(TinyConfig(), DType::kBf16);
    tiny["model.layers.1.mlp.down_proj.weight"].values[77] = wrong;
    run.WriteModel(tiny);
    for (const char* dtype : {"fp32", "bf16"}) {
      const RunResult result = run.Train(kBf16Saving + Flags{{"dtype", dtype}, {"save-steps", "1"}});
      ASSERT_FALSE(result.status.has_value()) << dtype;
      EXPECT_EQ(result.status.error().code, ErrorCode::kNotFinite) << result.status.error().message;
      EXPECT_NE(result.status.error().message.find("step 1"), std::string::npos) << result.status.error().message;
      for (const auto& entry : fs::directory_iterator(run.output()))
        EXPECT_FALSE(entry.path().filename().string().starts_with("checkpoint")) << entry.path();
      EXPECT_FALSE(fs::exists(run.output() + "/model.safetensors"));
    }
  }
}

// In a child, which has its own signals: it is told to stop once its first step is on record.
TEST(Recovery, ASignalSavesAndTheRunGoesOnBitForBit) {
  TinyRun run;
  run.WriteModel(TinyModel());
  const std::string metrics = run.output() + "/metrics.jsonl";
  const pid_t child = fork();
  if (child == 0) {
    fs::remove_all(run.output());
    std::atomic<bool> over = false;
    std::thread sender([&] {
      while (!over && GoldenRun::Read(metrics).empty()) std::this_thread::yield();
      kill(getpid(), SIGTERM);
    });
    const RunResult stopped = run.Train({{"max-steps", "1000000"}});
    over = true;
    sender.join();
    _exit(!stopped.status.has_value() && stopped.status.error().code == ErrorCode::kInterrupted ? 42 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_EQ(WEXITSTATUS(status), 42);
  const auto state = nlohmann::json::parse(GoldenRun::Read(run.output() + "/trainer_state.json"));
  const auto stopped_at = state["global_step"].get<int>();
  EXPECT_TRUE(fs::exists(run.output() + "/checkpoint-" + std::to_string(stopped_at)));
  const Flags length{{"max-steps", std::to_string(stopped_at + 2)}};
  const RunResult resumed = run.Train(length + kResume, false);
  ExpectSameEnd(run.Train(length), resumed);
}

}  // namespace
}  // namespace tidemill::train
