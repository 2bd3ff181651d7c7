// Faults, made and real: the right bytes, or an error that names file, offset, expected and found.

#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <thread>

#include "tests/io/engine_fixture.h"

namespace tidemill::io {
namespace {

constexpr size_t kPage = kAlignmentBytes;
const EngineLimits kLimits{.depth = 4, .block_bytes = 4 * kPage, .requests_max = 64};

class EngineFaults : public testing::Test {
 protected:
  void Open(const fakes::FaultPlan& plan) {
    engine_ = std::make_unique<Engine>(std::make_unique<fakes::FaultyTransport>(
                                           std::make_unique<fakes::MemoryTransport>(kLimits.depth, kFileBytes), plan),
                                       kLimits);
    engine_->AddFile({.fd = -1, .path = "/swap/file", .capacity_bytes = kFileBytes, .direct = true});
  }
  std::unique_ptr<Engine> engine_;
};

// Ten requests of three pieces each: every fault at each of the thirty positions.
TEST_F(EngineFaults, AnErrorReachesItsOwnRequestAndNoOther) {
  for (size_t position = 0; position < 30; ++position) {
    Open({.fail_op = position});
    AlignedBuffer buffer = Buffer(12 * kPage, 1);
    size_t failed = 0;
    for (size_t i = 0; i < 10; ++i) {
      const Status status = RunOne(*engine_, WriteOf(i * 12 * kPage, buffer.span(), i));
      if (status) continue;
      ++failed;
      EXPECT_EQ(i, position / 3);
    }
    EXPECT_EQ(failed, 1U) << position;
    EXPECT_EQ(engine_->outstanding(), 0U);
  }
}

TEST_F(EngineFaults, AnErrorNamesPathOffsetExpectedAndFound) {
  Open({.fail_op = 1});
  AlignedBuffer buffer = Buffer(12 * kPage);
  const Status status = RunOne(*engine_, ReadOf(8 * kPage, buffer.span()));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kStorage);
  const std::string& message = status.error().message;
  for (const char* part : {"read failed", "EIO", "/swap/file", "offset 49152", "expected 16384 bytes", "found 0"})
    EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
}

TEST_F(EngineFaults, FullDisksHaveTheirOwnCode) {
  for (const int error_number : {ENOSPC, EDQUOT, EFBIG}) {
    Open({.fail_op = 0, .error_number = error_number});
    AlignedBuffer buffer = Buffer(kPage);
    const Status status = RunOne(*engine_, WriteOf(0, buffer.span()));
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kNoSpace) << status.error().message;
  }
}

TEST_F(EngineFaults, AKernelThatSaysAgainForEverIsAnError) {
  Open({.error_number = EAGAIN, .interrupt_every = 1});
  AlignedBuffer buffer = Buffer(kPage);
  EXPECT_FALSE(RunOne(*engine_, WriteOf(0, buffer.span())));
}

TEST_F(EngineFaults, AnEndOfFileIsCorruptAndAWriteOfNothingIsAFault) {
  AlignedBuffer buffer = Buffer(kPage);
  Open({.vanish_op = 0});
  EXPECT_EQ(RunOne(*engine_, ReadOf(0, buffer.span())).error().code, ErrorCode::kCorrupt);
  Open({.vanish_op = 0});
  EXPECT_EQ(RunOne(*engine_, WriteOf(0, buffer.span())).error().code, ErrorCode::kStorage);
}

TEST_F(EngineFaults, CountsWhatItHadToResume) {
  Open({.moved_at_most = kPage});
  AlignedBuffer buffer = Buffer(4 * kPage);
  ASSERT_TRUE(RunOne(*engine_, WriteOf(0, buffer.span())));
  EXPECT_EQ(engine_->counters().resumed_pieces, 3U);
}

class RealFaults : public testing::TestWithParam<std::string> {
 protected:
  void Open() {
    auto made = MakeEngine(GetParam(), {.depth = 4, .block_bytes = 16 * kPage, .requests_max = 64});
    if (!made) GTEST_SKIP() << made.error().message;
    engine_ = std::move(*made);
    file_ = std::make_unique<SwapFile>(SwapFile::Create(directory_.File("swap"), kFileBytes).value());
    engine_->AddFile(file_->block_file());
  }
  TestDirectory directory_;
  std::unique_ptr<SwapFile> file_;
  std::unique_ptr<Engine> engine_;
};

TEST_P(RealFaults, AFileThatWasCutIsCorruptWithExpectedAndFound) {
  ASSERT_NO_FATAL_FAILURE(Open());
  if (IsSkipped()) return;
  for (const off_t cut : {1, 512, 4096, 5000}) {
    ASSERT_EQ(::truncate(file_->path().c_str(), static_cast<off_t>(kFileBytes) - cut), 0);
    AlignedBuffer buffer = Buffer(4 * kPage);
    const Status status = RunOne(*engine_, ReadOf(kFileBytes - 4 * kPage, buffer.span()));
    ASSERT_FALSE(status) << cut;
    EXPECT_EQ(status.error().code, ErrorCode::kCorrupt) << status.error().message;
    const std::string found = "expected 16384 bytes, found " + std::to_string(4 * kPage - static_cast<size_t>(cut));
    EXPECT_NE(status.error().message.find(found), std::string::npos) << status.error().message;
    ASSERT_TRUE(RunOne(*engine_, ReadOf(0, buffer.span())));  // the engine is well, and other bytes are there
  }
}

// RLIMIT_FSIZE gives a short write and then EFBIG, as a disk that fills up does. In a child: the limit stays.
TEST_P(RealFaults, AWriteThatFindsNoMoreSpaceIsNoSpace) {
  ASSERT_NO_FATAL_FAILURE(Open());
  if (IsSkipped()) return;
  engine_.reset();
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::truncate(file_->path().c_str(), 0);
    const rlimit limit{2 * kPage, 2 * kPage};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto engine = MakeEngine(GetParam(), {.depth = 4, .block_bytes = 16 * kPage, .requests_max = 64});
    if (!engine) ::_exit(10);
    (*engine)->AddFile(file_->block_file());
    AlignedBuffer buffer = Buffer(8 * kPage, 1);
    const Status status = RunOne(**engine, WriteOf(0, buffer.span()));
    if (status) ::_exit(11);
    if (status.error().message.find("expected 32768 bytes, found 8192") == std::string::npos) ::_exit(12);
    ::_exit(status.error().code == ErrorCode::kNoSpace ? 0 : 13);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_P(RealFaults, AWakeEndsAWaitFromAnyThread) {
  ASSERT_NO_FATAL_FAILURE(Open());
  if (IsSkipped()) return;
  AlignedBuffer buffer = Buffer(kFileBytes, 1);
  const IoRequest request = WriteOf(0, buffer.span());
  ASSERT_TRUE(engine_->Submit({&request, 1}));
  std::thread waker([&] { engine_->Wake(); });
  size_t completed = 0;
  std::array<IoCompletion, 1> done;
  while (completed == 0) completed = engine_->Reap(done, 1).value();  // woken or not, the request ends once
  waker.join();
  EXPECT_TRUE(done[0].status);
  EXPECT_EQ(engine_->outstanding(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Engines, RealFaults, testing::Values("io_uring", "libaio", "posix"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace tidemill::io
