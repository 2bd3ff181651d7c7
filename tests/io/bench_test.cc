#include "io/bench.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "io/latency_histogram.h"
#include "tests/io/engine_fixture.h"

namespace tidemill::io {
namespace {

const StopQuestion kGoOn = [] { return false; };
constexpr size_t kPage = kAlignmentBytes;

TEST(LatencyHistogram, FindsQuantilesWithinThreePercent) {
  LatencyHistogram latency;
  for (uint64_t us = 1; us <= 1000; ++us) latency.Add(us * 1000);
  EXPECT_EQ(latency.count(), 1000U);
  EXPECT_DOUBLE_EQ(latency.MeanMicroseconds(), 500.5);
  for (const double q : {0.01, 0.5, 0.9, 0.99, 0.999, 1.0})
    EXPECT_NEAR(latency.QuantileMicroseconds(q), q * 1000, q * 30) << q;
}

TEST(LatencyHistogram, TakesAnyTimeAndMerges) {
  LatencyHistogram a, b;
  EXPECT_EQ(a.QuantileMicroseconds(0.5), 0);
  a.Add(0);
  b.Add(UINT64_MAX);
  a.Merge(b);
  EXPECT_EQ(a.count(), 2U);
  EXPECT_GT(a.QuantileMicroseconds(1.0), 1e9);
}

class BenchTest : public testing::Test {
 protected:
  std::string BenchPath() const { return directory_.File("tidemill-bench.bin"); }
  void MakeUsersFile(size_t bytes) { std::ofstream(BenchPath()) << std::string(bytes, 'u'); }
  TestDirectory directory_;
};

TEST_F(BenchTest, LeavesNoNameOfAFileThatItMade) {
  BenchFile file = BenchFile::Open(directory_.path(), kMiB, true, kGoOn).value();
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));  // already: kill -9 leaves nothing either
  EXPECT_TRUE(file.has_pattern());
  EXPECT_TRUE(file.CheckPattern(0, kMiB, kGoOn));
}

TEST_F(BenchTest, UsesAndKeepsAFileThatWasThere) {
  MakeUsersFile(kMiB + 5);
  {
    BenchFile file = BenchFile::Open(directory_.path(), kMiB, true, kGoOn).value();
    EXPECT_FALSE(file.has_pattern());
    EXPECT_TRUE(RunBenchPoint({&file, 1}, {.block_bytes = kPage}, 0.02, false, kGoOn));
  }
  std::ifstream stream(BenchPath());
  const std::string now(std::istreambuf_iterator<char>(stream), {});
  EXPECT_EQ(now, std::string(kMiB + 5, 'u'));
}

TEST_F(BenchTest, GivesASmallFileItsSizeBack) {
  MakeUsersFile(100);
  {
    BenchFile file = BenchFile::Open(directory_.path(), kMiB, true, kGoOn).value();
    EXPECT_EQ(std::filesystem::file_size(BenchPath()), kMiB);
  }
  EXPECT_EQ(std::filesystem::file_size(BenchPath()), 100U);
}

TEST_F(BenchTest, FollowsNoLink) {
  std::filesystem::create_symlink("/etc/hostname", BenchPath());
  EXPECT_FALSE(BenchFile::Open(directory_.path(), kMiB, true, kGoOn));
}

TEST_F(BenchTest, NamesNeedAndFreeSpaceBeforeItWrites) {
  const auto file = BenchFile::Open(directory_.path(), uint64_t{1} << 50, true, kGoOn);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kDoesNotFit);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(BenchTest, FindsAWrongByte) {
  MakeUsersFile(kMiB);
  BenchFile file = BenchFile::Open(directory_.path(), kMiB, true, kGoOn).value();
  ASSERT_TRUE(file.WritePattern(kGoOn));
  ASSERT_TRUE(file.CheckPattern(0, kMiB, kGoOn));
  std::fstream stream(BenchPath(), std::ios::in | std::ios::out);
  stream.seekg(54'321);
  const auto byte = static_cast<char>(stream.get() ^ 1);
  stream.seekp(54'321);
  stream.put(byte);
  stream.close();
  const Status wrong = file.CheckPattern(0, kMiB, kGoOn);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(wrong.error().message.find("offset 54321"), std::string::npos) << wrong.error().message;
  EXPECT_EQ(RunBenchPoint({&file, 1}, {.block_bytes = kMiB, .depth = 1}, 0.05, true, kGoOn).error().code,
            ErrorCode::kCorrupt);
}

TEST_F(BenchTest, MeasuresEveryMixOnEveryEngineAndVerifies) {
  BenchFile file = BenchFile::Open(directory_.path(), 4 * kMiB, true, kGoOn).value();
  for (const auto engine : {EngineChoice::kAuto, EngineChoice::kPosix}) {
    for (const auto mix : {BenchMix::kRead, BenchMix::kWrite, BenchMix::kReadWrite}) {
      const auto row =
          RunBenchPoint({&file, 1}, {.engine = engine, .mix = mix, .block_bytes = 64 * kKiB, .depth = 3, .jobs = 2},
                        0.2, true, kGoOn);
      ASSERT_TRUE(row) << row.error().message;
      EXPECT_EQ(row->read_bytes_per_s > 0, mix != BenchMix::kWrite);
      EXPECT_EQ(row->written_bytes_per_s > 0, mix != BenchMix::kRead);
      EXPECT_DOUBLE_EQ(row->gb_per_s, (row->read_bytes_per_s + row->written_bytes_per_s) / 1e9);
      EXPECT_LE(row->p50_us, row->p99_us);
      EXPECT_LE(row->p99_us, row->p999_us);
      EXPECT_EQ(row->direct, file.direct());
    }
  }
}

TEST_F(BenchTest, MeasuresSeveralFilesAtOnce) {
  const TestDirectory other;
  std::vector<BenchFile> files;
  files.push_back(BenchFile::Open(directory_.path(), 4 * kMiB, true, kGoOn).value());
  files.push_back(BenchFile::Open(other.path(), 4 * kMiB, true, kGoOn).value());
  const auto row = RunBenchPoint(files, {.mix = BenchMix::kReadWrite, .block_bytes = 64 * kKiB, .depth = 4, .jobs = 2},
                                 0.2, true, kGoOn);
  ASSERT_TRUE(row) << row.error().message;
  ASSERT_EQ(row->files.size(), 2U);
  double read = 0, written = 0;
  for (const auto& file : row->files) {
    EXPECT_GT(file.read_bytes_per_s, 0);
    EXPECT_GT(file.written_bytes_per_s, 0);
    read += file.read_bytes_per_s;
    written += file.written_bytes_per_s;
  }
  EXPECT_DOUBLE_EQ(row->read_bytes_per_s, read);
  EXPECT_DOUBLE_EQ(row->written_bytes_per_s, written);
}

TEST_F(BenchTest, SwapsAPageEachWayHoweverShortTheRun) {
  BenchFile file = BenchFile::Open(directory_.path(), 4 * kMiB, true, kGoOn).value();
  const BenchPoint point{.mix = BenchMix::kSwap, .block_bytes = 64 * kKiB, .depth = 4, .jobs = 2, .page_bytes = kMiB};
  const auto row = RunBenchPoint({&file, 1}, point, 1e-9, true, kGoOn);
  ASSERT_TRUE(row) << row.error().message;
  EXPECT_EQ(row->moved_bytes, 4 * kMiB);  // two jobs, two directions
  EXPECT_GT(row->read_bytes_per_s, 0);
  EXPECT_GT(row->written_bytes_per_s, 0);
  EXPECT_EQ(
      RunBenchPoint({&file, 1}, {.mix = BenchMix::kSwap, .jobs = 8, .page_bytes = kMiB}, 1, false, kGoOn).error().code,
      ErrorCode::kInvalidArgument);
}

TEST_F(BenchTest, NoWordForThePatternOfTrainingIsTakenFromUsers) {
  EXPECT_FALSE(ParseBenchMix("swap"));
  EXPECT_EQ(Name(ParseBenchMix("readwrite").value()), "readwrite");
}

TEST_F(BenchTest, RefusesWhatCannotBeMeasured) {
  BenchFile file = BenchFile::Open(directory_.path(), kMiB, true, kGoOn).value();
  const auto code = [&](const BenchPoint& point) {
    return RunBenchPoint({&file, 1}, point, 0.01, false, kGoOn).error().code;
  };
  EXPECT_EQ(code({.block_bytes = 1000}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.block_bytes = 0}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.block_bytes = 2 * kMiB}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.block_bytes = kMiB, .jobs = 2}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.block_bytes = kPage, .depth = 0}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.block_bytes = kMiB, .depth = size_t{1} << 40}), ErrorCode::kDoesNotFit);
}

TEST_F(BenchTest, StopsWhenAsked) {
  const auto stopped = BenchFile::Open(directory_.path(), 64 * kMiB, true, [] { return true; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kInterrupted);
  BenchFile file = BenchFile::Open(directory_.path(), kMiB, true, kGoOn).value();
  EXPECT_EQ(RunBenchPoint({&file, 1}, {.block_bytes = kPage}, 1000, false, [] { return true; }).error().code,
            ErrorCode::kInterrupted);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they reserve address space by terabytes
// A process that gives itself room for a few stacks and asks for many jobs.
[[noreturn]] void AskForMoreJobsThanFit(BenchFile& file) {
  std::ifstream pages("/proc/self/statm");
  rlim_t used = 0;
  pages >> used;
  const rlim_t room = used * 4096 + (rlim_t{64} << 20);
  const rlimit limit{room, room};
  ::setrlimit(RLIMIT_AS, &limit);
  const BenchPoint point{.engine = EngineChoice::kLibaio, .block_bytes = kPage, .depth = 1, .jobs = 24};
  const auto row = RunBenchPoint({&file, 1}, point, 3600, false, kGoOn);
  if (row) std::_Exit(0);
  std::fputs(row.error().message.c_str(), stderr);
  std::_Exit(row.error().code == ErrorCode::kUnavailable ? 7 : 8);
}

TEST_F(BenchTest, TooFewThreadsAreAnErrorThatEndsTheJobsThatStarted) {
  if (const auto refused = OpenEngine({.choice = EngineChoice::kLibaio}); !refused)
    GTEST_SKIP() << refused.error().message;
  BenchFile file = BenchFile::Open(directory_.path(), kMiB, true, kGoOn).value();
  EXPECT_EXIT(AskForMoreJobsThanFit(file), testing::ExitedWithCode(7),
              "threads \\(of 24 jobs\\): pass fewer --numjobs");
}
#endif

}  // namespace
}  // namespace tidemill::io
