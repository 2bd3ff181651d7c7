#include "io/tune.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tests/fakes/refuse_direct.h"
#include "tests/io/engine_fixture.h"

namespace tidemill::io {
namespace {

const StopQuestion kGoOn = [] { return false; };

TuneRequest Small(std::vector<std::string> directories) {
  return {.directories = std::move(directories),
          .file_bytes = 32 * kMiB,
          .quick = true,
          .budget_seconds = 0,  // every measurement as short as it can be, the fewest turns
          .stop = kGoOn};
}

TEST(TuneCandidates, TriesEveryCombinationAndTheDefaultFirst) {
  const auto points = TuneCandidates({EngineChoice::kLibaio, EngineChoice::kPosix}, true);
  EXPECT_EQ(points.size(), 2U * 3 * 2 * 2);
  EXPECT_EQ(points[0].engine, EngineChoice::kLibaio);
  EXPECT_EQ(points[0].block_bytes, kMiB);
  EXPECT_EQ(points[0].depth, 32U);
  EXPECT_EQ(points[0].jobs, 1U);
  for (const BenchPoint& point : points) EXPECT_EQ(point.mix, BenchMix::kSwap);
  EXPECT_EQ(TuneCandidates({EngineChoice::kPosix}, false).size(), 6U * 5 * 3);
}

TEST(TuneDirectories, MeasuresEachAloneAndAllTogetherAndLeavesNothing) {
  const TestDirectory one, two;
  const auto result = TuneDirectories(Small({one.path(), two.path() + "/."}));
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->directories.size(), 2U);
  EXPECT_EQ(result->directories[1].path, std::filesystem::canonical(two.path()));
  double together = 0;
  for (const DirectoryRates& rates : result->directories) {
    EXPECT_GT(rates.read_bytes_per_s, 0);
    EXPECT_GT(rates.written_bytes_per_s, 0);
    EXPECT_GT(rates.alone.read_bytes_per_s, 0);
    EXPECT_GT(rates.alone.written_bytes_per_s, 0);
    EXPECT_GT(rates.block_latency_us, 0);
    together += rates.together.read_bytes_per_s;
  }
  EXPECT_GT(together, 0);
  EXPECT_GE(result->swap.size(), SearchPlan::kFewestTurns);
  EXPECT_EQ(result->swap.size(), result->saturated.size());
  EXPECT_FALSE(result->engine.empty());
  EXPECT_TRUE(std::filesystem::is_empty(one.path()));
  EXPECT_TRUE(std::filesystem::is_empty(two.path()));
}

TEST(TuneDirectories, StopsAtAnyTimeAndLeavesNothing) {
  const TestDirectory directory;
  // Every further question is answered yes a little later: while writing, searching and measuring.
  size_t interrupted = 0;
  for (size_t yes_after = 1; yes_after < 3000; yes_after = yes_after * 3 + 1) {
    TuneRequest request = Small({directory.path()});
    std::atomic<size_t> asked = 0;
    request.stop = [&] { return ++asked > yes_after; };
    const auto result = TuneDirectories(request);
    EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
    if (result.has_value()) continue;
    EXPECT_EQ(result.error().code, ErrorCode::kInterrupted) << result.error().message;
    ++interrupted;
  }
  EXPECT_GE(interrupted, 4U);
}

TEST(TuneDirectories, DoesNotAdoptThePageCachesSpeed) {
  const TestDirectory directory;
  std::string error;
  ErrorCode code = ErrorCode::kIo;
  const bool ran = fakes::WithoutDirectIo([&] {
    const auto result = TuneDirectories(Small({directory.path()}));
    if (result.has_value()) return;
    code = result.error().code;
    error = result.error().message;
  });
  if (!ran) GTEST_SKIP() << "seccomp filters are not permitted here";
  EXPECT_EQ(code, ErrorCode::kUnavailable);
  EXPECT_NE(error.find("O_DIRECT is refused"), std::string::npos) << error;
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(TuneDirectories, RefusesADirectoryTwice) {
  const TestDirectory directory;
  const auto result = TuneDirectories(Small(
      {directory.path(), directory.path() + "/../" + std::filesystem::path(directory.path()).filename().string()}));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
}

TEST(TuneDirectories, NamesADirectoryThatIsNotThere) {
  const auto result = TuneDirectories(Small({"/nonexistent-folder"}));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(result.error().message.find("/nonexistent-folder"), std::string::npos);
}

}  // namespace
}  // namespace tidemill::io
