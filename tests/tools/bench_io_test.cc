// `bench io` and `info` as a user meets them: what is said of a measurement, and what is left in the directory.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/tools/run_fixture.h"
#include "tests/tools/run_program.h"

namespace tidemill::tools {
namespace {

using StorageTools = RunTest;

void ExpectOnlyTheUsersFile(const std::string& directory) {
  for (const auto& entry : fs::directory_iterator(directory)) EXPECT_EQ(entry.path().filename(), "other.bin");
  std::ifstream file(directory + "/other.bin");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "the user's");
}

TEST_F(StorageTools, BenchIoSaysWhatWasMeasuredAndTheRateIsBytesOverTime) {
  std::ofstream(swap() + "/other.bin") << "the user's";
  for (const bool direct : {true, false}) {
    const Outcome bench =
        RunProgram("bench io --swap-dir " + swap() +
                   " --size 1MiB --bs 64KiB --iodepth 1,3 --rw read,write,readwrite --runtime 100ms --json --direct " +
                   (direct ? "true" : "false") + " 2>" + work_ + "/err");
    ASSERT_EQ(bench.status, 0);
    const auto rows = nlohmann::json::parse(bench.text)["results"];
    ASSERT_EQ(rows.size(), 6U);
    for (const auto& row : rows) {
      EXPECT_TRUE(row["direct"].is_boolean()) << row;
      EXPECT_TRUE(direct || row["direct"] == false) << row;
      EXPECT_EQ(row["file"], swap() + "/tidemill-bench.bin");
      EXPECT_FALSE(row["pattern"].get<std::string>().empty());
      const double counted = row["gb_per_s"].get<double>() * 1e9 * 0.1, moved = row["bytes_moved"].get<double>();
      EXPECT_GT(counted, 0);
      EXPECT_NEAR(row["read_bytes_per_s"].get<double>() + row["write_bytes_per_s"].get<double>(), counted / 0.1, 1);
      // What was under way when the time was over moved and does not count.
      EXPECT_LE(counted, moved + 1);
      EXPECT_LE(moved, counted + row["iodepth"].get<double>() * 65536 + 1) << row;
    }
    std::ifstream said(work_ + "/err");
    const std::string words(std::istreambuf_iterator<char>(said), {});
    EXPECT_TRUE(direct || words.find("measured through the page cache") != std::string::npos) << words;
  }
  ExpectOnlyTheUsersFile(swap());
}

TEST_F(StorageTools, BenchIoThatIsInterruptedLeavesNothing) {
  std::ofstream(swap() + "/other.bin") << "the user's";
  for (const auto& [signal, status] : {std::pair(SIGINT, 130), std::pair(SIGTERM, 143), std::pair(SIGKILL, 137)}) {
    std::string depths = "1";
    for (int depth = 2; depth <= 2000; ++depth) depths += "," + std::to_string(depth % 8 + 1);
    ChildProgram bench({"bench", "io", "--swap-dir", swap(), "--size", "1MiB", "--bs", "64KiB", "--iodepth", depths,
                        "--runtime", "50ms", "--direct", "false", "--json"});
    ASSERT_TRUE(bench.WaitFor("measured through the page cache")) << bench.text();
    bench.Signal(signal);
    EXPECT_EQ(bench.Wait(), status) << bench.text();
    ExpectOnlyTheUsersFile(swap());
  }
}

TEST_F(StorageTools, InfoSaysWhatADirectoryAndTheMachineAllow) {
  const Outcome machine = RunProgram("info --json 2>/dev/null");
  ASSERT_EQ(machine.status, 0);
  const auto engines = nlohmann::json::parse(machine.text)["io_engines"];
  for (const char* const name : {"io_uring", "libaio", "posix"}) {
    const auto said = engines[name].get<std::string>();
    EXPECT_TRUE(said == "works" || said.find("refused") != std::string::npos) << said;
  }
  EXPECT_EQ(engines["posix"], "works");
  const Outcome directory = RunProgram("info --swap-dir " + swap() + " --json 2>/dev/null");
  ASSERT_EQ(directory.status, 0);
  const auto info = nlohmann::json::parse(directory.text);
  EXPECT_TRUE(info["direct"].is_boolean());
  for (const char* const key : {"direct_memory_alignment", "direct_offset_alignment"}) {
    const auto alignment = info[key].get<uint64_t>();  // 0: the kernel does not say
    EXPECT_TRUE(alignment <= 4096 && (alignment == 0 || 4096 % alignment == 0)) << key << " " << alignment;
  }
  EXPECT_TRUE(fs::is_empty(swap()));
}

}  // namespace
}  // namespace tidemill::tools
