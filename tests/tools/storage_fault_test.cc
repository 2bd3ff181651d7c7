// Storage that goes wrong under a run of the built program: damaged swap files, full disks, directories in use.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>

#include "tests/tools/child_program.h"

namespace tidemill::tools {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

class StorageFault : public testing::Test {
 protected:
  void SetUp() override {
    work_ = fs::canonical(testing::TempDir()).string() + "/storage_fault_" +
            testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(work_);
    fs::create_directories(swap());
    std::ofstream rows(work_ + "/rows.jsonl");
    for (int row = 0; row < 8; ++row) rows << "{\"input_ids\":[1,2," << row + 3 << ",4,5,6,7,8,9,10,11,12]}\n";
  }
  void TearDown() override { fs::remove_all(work_); }

  std::string swap() const { return work_ + "/swap"; }
  std::string swap_file() const { return swap() + "/tidemill-swap.bin"; }
  std::string out(const std::string& run = "a") const { return work_ + "/" + run; }

  Words Train(const std::string& run, int steps, const Words& more = {}) const {
    Words words{"train",
                "--model",
                std::string(TIDEMILL_SOURCE_DIR) + "/tests/golden/models/llama_gqa_tied_f32",
                "--train-data",
                work_ + "/rows.jsonl",
                "--output-dir",
                out(run),
                "--max-steps",
                std::to_string(steps),
                "--threads",
                "1",
                "--host-memory",
                "64MiB",
                "--device",
                "host:mem=64MiB",
                "--dtype",
                "fp32"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // With everything on nvme, slow enough to be met while it runs.
  Words SlowTrain(const std::string& run, const Words& more = {}) const {
    Words words = Train(run, 2000, OnNvme());
    const Words slow{"--device", "host:mem=64MiB,nvme-write=30MB/s"};
    words.insert(words.end(), slow.begin(), slow.end());
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Words OnNvme() const {
    return {"--swap-dir", swap(), "--place-params", "nvme", "--place-optimizer", "nvme", "--place-gradients", "nvme"};
  }

  static int Run(const Words& words, std::string* text = nullptr) {
    ChildProgram program(words);
    const int status = program.Wait();
    if (text != nullptr) *text = program.text();
    return status;
  }

  int NewestCheckpoint(const std::string& run) const {
    int newest = -1;
    for (const auto& entry : fs::directory_iterator(out(run))) {
      const std::string name = entry.path().filename();
      EXPECT_EQ(name.find(".partial"), std::string::npos) << name;
      if (name.starts_with("checkpoint-")) newest = std::max(newest, std::stoi(name.substr(11)));
    }
    return newest;
  }

  // Damages the swap file of a run that stands still, lets it go on, and expects it to end there.
  template <typename Damage>
  void ExpectEndOfRun(const Damage& damage) {
    ChildProgram run(SlowTrain("a", {"--save-steps", "1", "--save-total-limit", "1"}));
    ASSERT_TRUE(run.WaitFor("step 2/2000")) << run.text();
    run.Signal(SIGSTOP);
    damage();
    run.Signal(SIGCONT);
    EXPECT_EQ(run.Wait(), 4) << run.text();
    for (const std::string& part : {std::string("tidemill: error: page "), swap_file(), std::string("offset ")})
      EXPECT_NE(run.text().find(part), std::string::npos) << part << " in " << run.text();
    EXPECT_TRUE(fs::is_empty(swap()));
    const int whole = NewestCheckpoint("a");
    ASSERT_GE(whole, 1);
    std::string text;
    EXPECT_EQ(Run(Train("a", whole + 1, {"--resume-from-checkpoint", "auto"}), &text), 0) << text;
  }

  std::string work_;
};

TEST_F(StorageFault, FlippedBytesEndTheRunWithStatus4AndLeaveTheLastCheckpointWhole) {
  ExpectEndOfRun([this] {
    std::fstream file(swap_file(), std::ios::in | std::ios::out | std::ios::binary);
    const auto size = static_cast<std::streamoff>(fs::file_size(swap_file()));
    for (std::streamoff at = 99; at < size; at += 4096) {
      const int byte = file.seekg(at).get();
      file.seekp(at).put(static_cast<char>(byte ^ 1));
    }
  });
}

TEST_F(StorageFault, ATruncatedSwapFileEndsTheRunWithStatus4) {
  ExpectEndOfRun([this] { fs::resize_file(swap_file(), 4096); });
}

TEST_F(StorageFault, ARemovedSwapFileEndsTheRunWithStatus4) {
  ExpectEndOfRun([this] { fs::remove(swap_file()); });
}

TEST_F(StorageFault, ASwapDirectoryIsOneRunsAtATimeAndWhatADeadOneLeftIsItsOwn) {
  Words other = Train("b", 1, OnNvme());
  std::string text;
  {
    ChildProgram first(SlowTrain("a"));
    ASSERT_TRUE(first.WaitFor("step 1/2000")) << first.text();
    EXPECT_EQ(Run(other, &text), 1);
    EXPECT_NE(text.find(out("a")), std::string::npos) << text;
    first.Signal(SIGKILL);
    EXPECT_EQ(first.Wait(), 128 + SIGKILL);
  }
  EXPECT_EQ(Run(other, &text), 1);
  for (const std::string& part : {out("a"), std::string("--swap-leftovers reclaim")})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_TRUE(fs::exists(swap_file()));
  EXPECT_EQ(Run(Train("a", 1, OnNvme()), &text), 0) << text;
  EXPECT_TRUE(fs::is_empty(swap()));
}

TEST_F(StorageFault, ADeadRunsFilesAreReclaimedOnRequest) {
  {
    ChildProgram first(SlowTrain("a"));
    ASSERT_TRUE(first.WaitFor("step 1/2000")) << first.text();
    first.Signal(SIGKILL);
    EXPECT_EQ(first.Wait(), 128 + SIGKILL);
  }
  Words other = Train("b", 1, OnNvme());
  other.insert(other.end(), {"--swap-leftovers", "reclaim"});
  std::string text;
  EXPECT_EQ(Run(other, &text), 0) << text;
  EXPECT_TRUE(fs::is_empty(swap()));
}

// While it lives, no file of this process and its children grows past `bytes`.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limited{bytes, before_.rlim_max};
    if (::setrlimit(RLIMIT_FSIZE, &limited) != 0) std::abort();
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

TEST_F(StorageFault, ASwapFileThatCannotBeAsLargeAsThePlanIsStatus3BeforeAnyStep) {
  std::string text;
  int status = 0;
  {
    const FileSizeLimit limit(64 << 10);
    status = Run(Train("a", 1, OnNvme()), &text);
  }
  EXPECT_EQ(status, 3) << text;
  for (const std::string& part : {swap_file(), std::string("needs "), std::string("free ")})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_EQ(text.find("step 1/"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(swap()));
}

TEST_F(StorageFault, ADiskThatFillsUpAtACheckpointIsStatus4AndLeavesTheLastOneWhole) {
  std::string text;
  ASSERT_EQ(Run(Train("a", 2, {"--save-steps", "2"}), &text), 0) << text;
  const Words on = Train("a", 4, {"--save-steps", "1", "--resume-from-checkpoint", "auto"});
  int status = 0;
  {
    const FileSizeLimit limit(16 << 10);
    status = Run(on, &text);
  }
  EXPECT_EQ(status, 4) << text;
  EXPECT_NE(text.find("checkpoint-3"), std::string::npos) << text;
  EXPECT_EQ(NewestCheckpoint("a"), 2);
  EXPECT_EQ(Run(on, &text), 0) << text;
  EXPECT_EQ(NewestCheckpoint("a"), 4);
}

}  // namespace
}  // namespace tidemill::tools
