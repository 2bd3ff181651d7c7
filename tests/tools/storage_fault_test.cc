// Storage that goes wrong under a run of the built program: damaged swap files, full disks, directories in use.
#include <sys/resource.h>

#include "tests/tools/resource_limit.h"
#include "tests/tools/run_fixture.h"

namespace tidemill::tools {
namespace {

class StorageFault : public RunTest {
 protected:
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
    const int whole = NewestCheckpoint("a");
    ASSERT_GE(whole, 1);
    std::string text;
    EXPECT_EQ(Run(Train("a", whole + 1, OnNvme() + Words{"--resume-from-checkpoint", "auto"}), &text), 0) << text;
    EXPECT_TRUE(fs::is_empty(swap()));
  }
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
  const Words other = Train("b", 1, OnNvme());
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
  std::string text;
  EXPECT_EQ(Run(Train("b", 1, OnNvme() + Words{"--swap-leftovers", "reclaim"}), &text), 0) << text;
  EXPECT_TRUE(fs::is_empty(swap()));
}

TEST_F(StorageFault, ASwapFileThatCannotBeAsLargeAsThePlanIsStatus3BeforeAnyStep) {
  std::string text;
  int status = 0;
  {
    const ResourceLimit limit(RLIMIT_FSIZE, 64 << 10);  // of each file
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
    const ResourceLimit limit(RLIMIT_FSIZE, 16 << 10);
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
