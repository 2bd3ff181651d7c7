// A long run keeps as many files open, and as many blocks of the disks, as a short one.
#include <sys/stat.h>

#include "tests/tools/run_fixture.h"

namespace tidemill::tools {
namespace {

struct Held {
  int64_t descriptors = 0;
  int64_t blocks = 0;  // of 512 bytes: of the files in the directories, and of removed ones that are still open
};

int64_t BlocksOf(const fs::path& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) ? info.st_blocks : 0;
}

// Of a process that stands still.
Held HeldBy(pid_t pid, const std::string& directory) {
  Held held;
  for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
    ++held.descriptors;
    std::error_code ignored;
    if (fs::read_symlink(entry.path(), ignored).string().ends_with(" (deleted)")) held.blocks += BlocksOf(entry.path());
  }
  for (const auto& entry : fs::recursive_directory_iterator(directory)) held.blocks += BlocksOf(entry.path());
  return held;
}

class SteadyStorage : public RunTest {
 protected:
  void SetUp() override {
    RunTest::SetUp();
    fs::create_directories(work_ + "/other");
  }

  // A run of `steps` over two swap directories, which saves after each and keeps one checkpoint.
  Words SavingRun(const std::string& run, int steps) const {
    return Train(run, steps,
                 OnNvme() + Words{"--swap-dir", work_ + "/other", "--save-steps", "1", "--save-total-limit", "1"});
  }
  Held HeldAfter(ChildProgram& child, int checkpoint) const {
    EXPECT_TRUE(child.WaitFor("saved checkpoint-" + std::to_string(checkpoint) + "\n")) << child.text();
    child.Signal(SIGSTOP);
    int status = 0;
    EXPECT_EQ(::waitpid(child.pid(), &status, WUNTRACED), child.pid());
    EXPECT_TRUE(WIFSTOPPED(status));
    const Held held = HeldBy(child.pid(), work_);
    child.Signal(SIGCONT);
    return held;
  }
  int64_t BlocksBelow(const std::string& path) const {
    int64_t blocks = 0;
    for (const auto& entry : fs::recursive_directory_iterator(work_ + path)) blocks += BlocksOf(entry.path());
    return blocks;
  }
  int64_t FilesIn(const std::string& path) const { return std::distance(fs::directory_iterator(work_ + path), {}); }
};

TEST_F(SteadyStorage, FiftyCheckpointsKeepNoFileOpenAndNoBlockMoreThanOne) {
  ChildProgram child(SavingRun("a", 54));
  const Held early = HeldAfter(child, 2), late = HeldAfter(child, 52);
  // The process is stopped anywhere between two steps, perhaps with the next checkpoint half written: two checkpoints
  // at most are there at once, and a save has a few files open. Fifty that were forgotten are another matter.
  EXPECT_LE(late.descriptors, early.descriptors + 4);
  EXPECT_LE(late.blocks, 2 * early.blocks);
  EXPECT_EQ(child.Wait(), 0) << child.text();
  EXPECT_TRUE(fs::is_empty(work_ + "/swap"));
  EXPECT_TRUE(fs::is_empty(work_ + "/other"));

  ChildProgram once(SavingRun("b", 1));
  EXPECT_EQ(once.Wait(), 0) << once.text();
  EXPECT_EQ(BlocksBelow("/a/checkpoint-54"), BlocksBelow("/b/checkpoint-1"));
  EXPECT_EQ(FilesIn("/a"), FilesIn("/b"));
}

}  // namespace
}  // namespace tidemill::tools
