// Every step that was committed in the swap directories survives the run's end, whatever that was.
#include <nlohmann/json.hpp>

#include "tests/tools/run_fixture.h"

namespace tidemill::tools {
namespace {

class Commit : public RunTest {
 protected:
  static constexpr int kSteps = 6;
  const Words kResume{"--resume-from-checkpoint", "auto"};

  Words Whole(const std::string& run, const Words& more = {}) const {
    return Train(run, kSteps, OnNvme() + Words{"--lr-scheduler-type", "cosine"} + more);
  }
  // Made, and given beside the first one.
  Words SecondDirectory() const {
    fs::create_directories(work_ + "/second");
    return {"--swap-dir", work_ + "/second"};
  }
  // Ends with SIGKILL after the fourth step was logged, and has committed the third or a later one.
  void Kill(const std::string& run, const Words& more = {}) const {
    ChildProgram child(Whole(run, Words{"--device", "host:mem=64MiB,nvme-write=6MB/s"} + more));
    ASSERT_TRUE(child.WaitFor("step 4/6")) << child.text();
    child.Signal(SIGKILL);
    ASSERT_EQ(child.Wait(), 128 + SIGKILL);
  }
  static std::string Bytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file) << path;
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<std::string> Losses(const std::string& run) const {
    std::vector<std::string> losses;
    std::ifstream file(out(run) + "/metrics.jsonl");
    for (std::string line; std::getline(file, line);)
      losses.push_back(nlohmann::json::parse(line).value("loss", nlohmann::json()).dump());
    return losses;
  }
  void ExpectSameEnd(const std::string& one, const std::string& other) const {
    EXPECT_EQ(Losses(one), Losses(other));
    EXPECT_EQ(Losses(one).size(), static_cast<size_t>(kSteps));
    EXPECT_EQ(Bytes(out(one) + "/model.safetensors"), Bytes(out(other) + "/model.safetensors"));
  }
  void FlipBytes() const {
    std::fstream file(swap_file(), std::ios::in | std::ios::out | std::ios::binary);
    const auto size = static_cast<std::streamoff>(fs::file_size(swap_file()));
    for (std::streamoff at = 99; at < size; at += 4096) {
      const int byte = file.seekg(at).get();
      file.seekp(at).put(static_cast<char>(byte ^ 1));
    }
  }
};

TEST_F(Commit, AKilledRunGoesOnAfterItsLastCommittedStepBitForBit) {
  std::string text;
  ASSERT_EQ(Run(Whole("whole"), &text), 0) << text;
  for (const char* const dtype : {"fp32", "bf16"}) {
    const Words typed{"--dtype", dtype, "--tile-size", "8KiB"};
    ASSERT_EQ(Run(Whole("whole", typed), &text), 0) << text;
    fs::remove_all(out("a"));
    ASSERT_NO_FATAL_FAILURE(Kill("a", typed));
    EXPECT_EQ(NewestCheckpoint("a"), -1);
    // Another placement, other tiles: what was committed is read as it was written.
    ASSERT_EQ(Run(Train("a", kSteps,
                        Words{"--swap-dir", swap(), "--dtype", dtype, "--lr-scheduler-type", "cosine"} + kResume),
                  &text),
              0)
        << text;
    EXPECT_NE(text.find("is saved as a checkpoint"), std::string::npos) << text;
    EXPECT_GE(NewestCheckpoint("a"), 3);
    ExpectSameEnd("whole", "a");
    EXPECT_TRUE(fs::is_empty(swap()));
  }
}

TEST_F(Commit, SeveralDirectoriesAreCommittedTogether) {
  std::string text;
  const Words second = SecondDirectory();
  ASSERT_EQ(Run(Whole("whole", second), &text), 0) << text;
  ASSERT_NO_FATAL_FAILURE(Kill("a", second));
  ASSERT_EQ(Run(Whole("a", second + kResume), &text), 0) << text;
  EXPECT_GE(NewestCheckpoint("a"), 3);
  ExpectSameEnd("whole", "a");
}

TEST_F(Commit, OneWholeRecordIsEnough) {
  std::string text;
  const Words second = SecondDirectory();
  ASSERT_NO_FATAL_FAILURE(Kill("a", second));
  std::fstream(work_ + "/second/tidemill-commit", std::ios::in | std::ios::out | std::ios::binary).seekp(40).put('#');
  ASSERT_EQ(Run(Whole("a", second + kResume), &text), 0) << text;
  EXPECT_NE(text.find("passing over a committed step: the commit record"), std::string::npos) << text;
  EXPECT_NE(text.find("is saved as a checkpoint"), std::string::npos) << text;
  EXPECT_GE(NewestCheckpoint("a"), 3);
}

TEST_F(Commit, AStartThatIsRefusedLeavesIt) {
  ASSERT_NO_FATAL_FAILURE(Kill("a"));
  std::string text;
  EXPECT_EQ(Run(Whole("a", {"--host-memory", "64KiB"}), &text), 3) << text;
  EXPECT_NE(text.find("giving up step "), std::string::npos) << text;
  ASSERT_EQ(Run(Whole("a", kResume), &text), 0) << text;
  EXPECT_NE(text.find("is saved as a checkpoint"), std::string::npos) << text;
}

TEST_F(Commit, IsFoundWhenDirectoriesChangePlaces) {
  std::string text;
  const Words second = SecondDirectory();
  ASSERT_EQ(Run(Whole("whole", second), &text), 0) << text;
  ASSERT_NO_FATAL_FAILURE(Kill("a", second));
  fs::rename(swap(), work_ + "/first");
  fs::rename(work_ + "/second", swap());
  fs::rename(work_ + "/first", work_ + "/second");
  ASSERT_EQ(Run(Whole("a", second + kResume), &text), 0) << text;
  EXPECT_NE(text.find("is saved as a checkpoint"), std::string::npos) << text;
  ExpectSameEnd("whole", "a");
}

TEST_F(Commit, ALostDirectoryIsPassedOverForACheckpointAndElseTouchesNothing) {
  for (const bool saved : {true, false}) {
    fs::remove_all(out("a"));
    const Words second = SecondDirectory();
    ASSERT_NO_FATAL_FAILURE(Kill("a", second + (saved ? Words{"--save-steps", "2"} : Words{})));
    for (const char* const later : {"/checkpoint-4", "/checkpoint-6"}) fs::remove_all(out("a") + later);
    fs::remove_all(work_ + "/second");
    std::string text;
    EXPECT_EQ(Run(Whole("a", kResume), &text), saved ? 0 : 4) << text;
    EXPECT_NE(text.find(work_ + "/second"), std::string::npos) << text;
    EXPECT_EQ(text.find("continuing after step 2") != std::string::npos, saved) << text;
    EXPECT_EQ(fs::exists(swap_file()), !saved);
  }
}

TEST_F(Commit, WhatIsNoFileInTheRecordsPlaceIsRefusedBeforeAStep) {
  fs::create_directories(swap() + "/tidemill-commit/inside");
  std::string text;
  EXPECT_EQ(Run(Whole("a"), &text), 2) << text;
  EXPECT_NE(text.find("tidemill-commit"), std::string::npos) << text;
  EXPECT_EQ(text.find("step 1/"), std::string::npos) << text;
}

TEST_F(Commit, IsExportedFromTheSwapDirectoryWhenItsRunIsOver) {
  {
    ChildProgram run(SlowTrain("a"));
    ASSERT_TRUE(run.WaitFor("step 3/2000")) << run.text();
    std::string text;
    EXPECT_EQ(Run({"export", "--swap-dir", swap(), "--output", out("early")}, &text), 1) << text;
    EXPECT_NE(text.find("in use"), std::string::npos) << text;
    run.Signal(SIGKILL);
    ASSERT_EQ(run.Wait(), 128 + SIGKILL);
  }
  std::string text;
  ASSERT_EQ(Run({"export", "--swap-dir", swap(), "--output", out("exported")}, &text), 0) << text;
  ASSERT_EQ(Run(Train("a", 3, OnNvme() + kResume), &text), 0) << text;  // saves what was committed, and stops there
  const int committed = NewestCheckpoint("a");
  ASSERT_GE(committed, 2);
  const std::string checkpoint = out("a") + "/checkpoint-" + std::to_string(committed);
  for (const char* const file : {"/model.safetensors", "/config.json"})
    EXPECT_EQ(Bytes(out("exported") + file), Bytes(checkpoint + file)) << file;
  EXPECT_EQ(Run({"export", "--swap-dir", swap(), "--output", out("none")}, &text), 2) << text;
}

TEST_F(Commit, ADamagedOneIsPassedOverForTheLastWholeCheckpoint) {
  ASSERT_NO_FATAL_FAILURE(Kill("a", {"--save-steps", "2"}));
  for (const char* const later : {"/checkpoint-4", "/checkpoint-6"}) fs::remove_all(out("a") + later);
  FlipBytes();
  std::string text;
  ASSERT_EQ(Run(Whole("a", kResume), &text), 0) << text;
  for (const char* const part :
       {"passing over a committed step: page ", "tidemill-swap.bin", "continuing after step 2"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
}

TEST_F(Commit, IsKeptWhenTheRunFailsAndGivenUpAloudWhenItStartsAnew) {
  {
    ChildProgram run(SlowTrain("a"));
    ASSERT_TRUE(run.WaitFor("step 2/2000")) << run.text();
    run.Signal(SIGSTOP);
    FlipBytes();
    run.Signal(SIGCONT);
    EXPECT_EQ(run.Wait(), 4) << run.text();
    EXPECT_NE(run.text().find("is committed"), std::string::npos) << run.text();
    EXPECT_TRUE(fs::exists(swap_file()));
  }
  std::string text;
  ASSERT_EQ(Run(Train("a", 1, OnNvme()), &text), 0) << text;
  EXPECT_NE(text.find("giving up step "), std::string::npos) << text;
  EXPECT_TRUE(fs::is_empty(swap()));
}

TEST_F(Commit, IsNotMadeWhilePartOfTheStateLivesInMemory) {
  ChildProgram run(Train("a", 2000,
                         {"--swap-dir", swap(), "--place-params", "nvme", "--place-optimizer", "host", "--device",
                          "host:mem=64MiB,nvme-write=30MB/s"}));
  ASSERT_TRUE(run.WaitFor("step 3/2000")) << run.text();
  EXPECT_FALSE(fs::exists(swap() + "/tidemill-commit"));
}

}  // namespace
}  // namespace tidemill::tools
