#include "io/swap_directory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "tests/io/engine_fixture.h"

namespace tidemill::io {
namespace {

constexpr auto kRefuse = LeftoverPolicy::kRefuse;
constexpr auto kReclaim = LeftoverPolicy::kReclaim;

class SwapDirectoryTest : public testing::Test {
 protected:
  void Touch(const std::string& name) { std::ofstream(directory_.File(name)) << "bytes"; }
  bool Exists(const std::string& name) const { return std::filesystem::exists(directory_.File(name)); }

  // A run that claims the directory and dies without a word, leaving a file.
  pid_t DieWithALeftover(const std::string& identity) {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto claimed = SwapDirectory::Claim(directory_.path(), identity, kRefuse);
      if (!claimed) ::_exit(1);
      std::ofstream(claimed->FilePath("pages-0")) << "state";
      ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    return child;
  }

  TestDirectory directory_;
};

TEST_F(SwapDirectoryTest, IsClaimedRecordedAndLeftEmpty) {
  auto claimed = SwapDirectory::Claim(directory_.path(), "/runs/a\nb", kRefuse).value();
  EXPECT_TRUE(claimed.leftovers().empty());
  const auto owner = ReadSwapOwner(directory_.path()).value().value();
  EXPECT_EQ(owner.identity, "/runs/a\nb");
  EXPECT_EQ(owner.pid, ::getpid());
  EXPECT_TRUE(owner.alive);
  std::ofstream(claimed.FilePath("pages-0")) << "state";
  ASSERT_TRUE(claimed.Finish());
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
  EXPECT_FALSE(ReadSwapOwner(directory_.path()).value());
}

TEST_F(SwapDirectoryTest, RefusesASecondLiveRunAndSaysWhose) {
  int to_child[2], to_parent[2];
  ASSERT_EQ(::pipe(to_child) + ::pipe(to_parent), 0);
  const pid_t child = ::fork();
  char byte = 0;
  if (child == 0) {
    const auto claimed = SwapDirectory::Claim(directory_.path(), "/runs/first", kRefuse);
    if (::write(to_parent[1], "x", 1) != 1 || ::read(to_child[0], &byte, 1) != 1) ::_exit(1);
    ::_exit(claimed ? 0 : 1);
  }
  ASSERT_EQ(::read(to_parent[0], &byte, 1), 1);
  for (const auto policy : {kRefuse, kReclaim}) {
    const auto second = SwapDirectory::Claim(directory_.path(), "/runs/second", policy);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(second.error().message.find("in use"), std::string::npos) << second.error().message;
    EXPECT_NE(second.error().message.find("run /runs/first, pid " + std::to_string(child)), std::string::npos)
        << second.error().message;
  }
  EXPECT_EQ(::write(to_child[1], "x", 1), 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(SwapDirectory::Claim(directory_.path(), "/runs/second", kRefuse));  // it is gone and left nothing
  for (const int fd : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) ::close(fd);
}

TEST_F(SwapDirectoryTest, GivesADeadRunItsOwnFilesBack) {
  DieWithALeftover("/runs/a");
  EXPECT_FALSE(ReadSwapOwner(directory_.path()).value().value().alive);
  const auto again = SwapDirectory::Claim(directory_.path(), "/runs/a", kRefuse).value();
  EXPECT_EQ(again.leftovers(), std::vector<std::string>{"tidemill-pages-0"});
  EXPECT_TRUE(Exists("tidemill-pages-0"));
}

TEST_F(SwapDirectoryTest, RefusesAnotherDeadRunsFilesAndSaysWhose) {
  const pid_t dead = DieWithALeftover("/runs/a");
  const auto other = SwapDirectory::Claim(directory_.path(), "/runs/b", kRefuse);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kUnavailable);
  const std::string& message = other.error().message;
  EXPECT_NE(message.find("run /runs/a, pid " + std::to_string(dead)), std::string::npos) << message;
  EXPECT_NE(message.find("--swap-leftovers reclaim"), std::string::npos) << message;
  // The refusal changed nothing: the files are still run a's.
  EXPECT_EQ(ReadSwapOwner(directory_.path()).value().value().identity, "/runs/a");
  EXPECT_TRUE(Exists("tidemill-pages-0"));
}

TEST_F(SwapDirectoryTest, ReclaimsOnRequestAndTouchesNothingElse) {
  DieWithALeftover("/runs/a");
  Touch("tidemill-bench.bin");
  Touch("thesis.tex");
  Touch("target");
  std::filesystem::create_symlink(directory_.File("target"), directory_.File("tidemill-link"));
  std::filesystem::create_directory(directory_.File("tidemill-folder"));
  auto claimed = SwapDirectory::Claim(directory_.path(), "/runs/b", kReclaim).value();
  EXPECT_FALSE(Exists("tidemill-pages-0"));
  ASSERT_TRUE(claimed.Finish());
  for (const char* name : {"tidemill-bench.bin", "thesis.tex", "target", "tidemill-link", "tidemill-folder"})
    EXPECT_TRUE(Exists(name)) << name;
}

TEST_F(SwapDirectoryTest, TreatsFilesWithoutARecordAsSomebodyElses) {
  Touch("tidemill-pages-0");
  EXPECT_FALSE(SwapDirectory::Claim(directory_.path(), "/runs/a", kRefuse));
  Touch("tidemill-owner");  // a record that is not one
  EXPECT_FALSE(SwapDirectory::Claim(directory_.path(), "/runs/a", kRefuse));
  EXPECT_TRUE(SwapDirectory::Claim(directory_.path(), "/runs/a", kReclaim));
}

TEST_F(SwapDirectoryTest, SaysThatADirectoryWasGivenTwice) {
  const auto first = SwapDirectory::Claim(directory_.path(), "/runs/a", kRefuse).value();
  const auto second = SwapDirectory::Claim(directory_.path() + "/.", "/runs/a", kRefuse);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(SwapDirectoryTest, DoesNotMakeAMissingDirectory) {
  const auto claimed = SwapDirectory::Claim(directory_.File("missing"), "/runs/a", kRefuse);
  ASSERT_FALSE(claimed);
  EXPECT_EQ(claimed.error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(Exists("missing"));
}

}  // namespace
}  // namespace tidemill::io
