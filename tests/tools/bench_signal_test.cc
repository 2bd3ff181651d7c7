// bench io and tune leave nothing behind, whenever they are interrupted.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/tools/child_program.h"

namespace tidemill::tools {
namespace {

class BenchSignals : public testing::Test {
 protected:
  void SetUp() override {
    work_ = testing::TempDir() + "/bench_signals_" + std::to_string(::getpid());
    std::filesystem::remove_all(work_);
    std::filesystem::create_directories(swap());
  }
  void TearDown() override { std::filesystem::remove_all(work_); }
  std::string swap() const { return work_ + "/swap"; }
  std::string profile() const { return work_ + "/profile.json"; }

  std::string work_;
};

TEST_F(BenchSignals, TuneLeavesNothingWhereverItIsInterrupted) {
  for (const char* where : {"writing 64.0 MiB", "comparing", "measuring at the chosen point", "measuring memory"}) {
    for (const int number : {SIGINT, SIGTERM}) {
      ChildProgram tune({"tune", "--swap-dir", swap(), "--quick", "--size", "64MiB", "--output", profile()});
      ASSERT_TRUE(tune.WaitFor(where)) << tune.text();
      tune.Signal(number);
      EXPECT_EQ(tune.Wait(), 128 + number) << where << "\n" << tune.text();
      EXPECT_TRUE(std::filesystem::is_empty(swap())) << where;
      EXPECT_FALSE(std::filesystem::exists(profile())) << where;
      if (std::string(where) != "comparing") break;  // the later ones take a while to come to
    }
  }
}

TEST_F(BenchSignals, NotEvenAKillLeavesAFile) {
  ChildProgram tune({"tune", "--swap-dir", swap(), "--quick", "--size", "64MiB", "--output", profile()});
  ASSERT_TRUE(tune.WaitFor("comparing")) << tune.text();
  tune.Signal(SIGKILL);
  EXPECT_EQ(tune.Wait(), 128 + SIGKILL);
  EXPECT_TRUE(std::filesystem::is_empty(swap()));
}

TEST_F(BenchSignals, BenchIoKeepsAUsersFileAndItsSize) {
  const std::string users = swap() + "/tidemill-bench.bin";
  std::ofstream(users) << "mine";
  std::vector<std::string> arguments{"bench", "io",       "--swap-dir", swap(),      "--size", "8MiB",     "--bs",
                                     "1MiB",  "--direct", "false",      "--runtime", "300ms",  "--iodepth"};
  std::string depths = "1";
  for (int depth = 2; depth < 100; ++depth) depths += "," + std::to_string(depth);
  arguments.push_back(depths);
  ChildProgram bench(arguments);
  ASSERT_TRUE(bench.WaitFor("through the page cache")) << bench.text();  // after the first row of many
  bench.Signal(SIGINT);
  EXPECT_EQ(bench.Wait(), 130) << bench.text();
  EXPECT_EQ(std::filesystem::file_size(users), 4U);
}

TEST_F(BenchSignals, TuneRefusesAnOutputBeforeItMeasures) {
  const auto refused = [&](const std::vector<std::string>& arguments) {
    ChildProgram tune(arguments);
    const int status = tune.Wait();
    EXPECT_NE(tune.text().find("--output"), std::string::npos) << tune.text();
    EXPECT_EQ(tune.text().find("writing"), std::string::npos) << tune.text();
    return status;
  };
  EXPECT_EQ(refused({"tune", "--swap-dir", swap()}), 2);
  EXPECT_EQ(refused({"tune", "--swap-dir", swap(), "--output", work_ + "/none/p.json"}), 2);
  EXPECT_EQ(refused({"tune", "--swap-dir", swap(), "--output", swap()}), 2);
}

}  // namespace
}  // namespace tidemill::tools
