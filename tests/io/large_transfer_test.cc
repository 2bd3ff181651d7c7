// Past 2 GiB in a request and 4 GiB in a file, and signals in the middle of it.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <csignal>

#include "io/file_ops.h"
#include "tests/io/engine_fixture.h"

namespace tidemill::io {
namespace {

constexpr size_t kPage = kAlignmentBytes;
constexpr uint64_t kLarge = (uint64_t{2} << 30) + kPage;  // more than one system call moves

// Address space of `bytes`, without memory behind it until pages of its own or shared ones are put there.
class Mapping {
 public:
  explicit Mapping(size_t bytes) : bytes_(bytes) {
    base_ =
        static_cast<std::byte*>(::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    EXPECT_NE(base_, MAP_FAILED);
  }
  ~Mapping() { ::munmap(base_, bytes_); }
  Mapping(const Mapping&) = delete;

  std::span<std::byte> span() const { return {base_, bytes_}; }
  // One page of its own at each end, and between them the same megabyte over and over.
  void Fill() const {
    constexpr size_t kShared = kMiB;
    const UniqueFd memory(::memfd_create("shared", MFD_CLOEXEC));
    ASSERT_EQ(::ftruncate(memory.get(), kShared), 0);
    for (size_t at = 0; at < bytes_; at += kShared)
      ASSERT_NE(::mmap(base_ + at, std::min(kShared, bytes_ - at), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                       memory.get(), 0),
                MAP_FAILED);
    for (std::byte* const end : {base_, base_ + bytes_ - kPage})
      ASSERT_NE(::mmap(end, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), MAP_FAILED);
  }

 private:
  const size_t bytes_;
  std::byte* base_;
};

// Says that everything moved, touches no byte, and adds up what it was asked for.
class NothingTransport final : public Transport {
 public:
  NothingTransport(size_t depth, std::vector<RawOp>& record) : depth_(depth), record_(record) {}
  std::string_view Name() const override { return "nothing"; }
  size_t Depth() const override { return depth_; }
  void AddFile(uint32_t, int) override {}
  void Wake() override {}
  Status Start(std::span<const RawOp> ops) override {
    for (const RawOp& op : ops) {
      record_.push_back(op);
      results_.push_back({op.id, static_cast<int64_t>(op.bytes)});
    }
    return Ok();
  }
  Result<size_t> Collect(std::span<RawResult> results, size_t) override {
    const size_t count = std::min(results.size(), results_.size());
    std::copy_n(results_.begin(), count, results.begin());
    results_.erase(results_.begin(), results_.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }

 private:
  const size_t depth_;
  std::vector<RawOp>& record_;
  std::vector<RawResult> results_;
};

TEST(LargeTransfers, ARequestOfAnySizeIsCutIntoPiecesThatCoverItOnce) {
  const Mapping memory(3 * kLarge);
  for (const uint64_t block : {uint64_t{4} << 20, uint64_t{1} << 30}) {
    std::vector<RawOp> record;
    Engine engine(std::make_unique<NothingTransport>(8, record), {.depth = 8, .block_bytes = block, .requests_max = 2});
    engine.AddFile({.fd = -1, .path = "nothing", .capacity_bytes = uint64_t{1} << 40});
    const uint64_t offset = (uint64_t{1} << 32) - kPage;
    ASSERT_TRUE(RunOne(engine, WriteOf(offset, memory.span())));
    uint64_t end = 0;
    for (const RawOp& op : record) {  // in order: the transport is never behind
      EXPECT_LE(op.bytes, block);
      ASSERT_EQ(op.address, memory.span().data() + end);
      ASSERT_EQ(op.offset_bytes, offset + end);
      end += op.bytes;
    }
    EXPECT_EQ(end, 3 * kLarge);
    EXPECT_EQ(engine.counters().written_bytes, 3 * kLarge);
  }
}

// Over a file of 7 GiB without blocks.
class LargeFiles : public testing::TestWithParam<std::string> {
 protected:
  void Open(const EngineLimits& limits = {.depth = 8, .block_bytes = 64 * kMiB, .requests_max = 8}) {
    auto made = MakeEngine(GetParam(), limits);
    if (!made) GTEST_SKIP() << made.error().message;
    engine_ = std::move(*made);
    const uint64_t bytes = uint64_t{7} << 30;
    const std::string path = directory_.File("sparse");
    file_ = OpenDirect(path, O_RDWR | O_CREAT | O_EXCL, true, "sparse").value();
    if (::ftruncate(file_.fd.get(), static_cast<off_t>(bytes)) != 0) GTEST_SKIP() << "no large files here";
    engine_->AddFile({file_.fd.get(), path, bytes, file_.direct});
  }
  TestDirectory directory_;
  DirectFd file_;
  std::unique_ptr<Engine> engine_;
};

TEST_P(LargeFiles, ARequestOverTwoGibibytesIsOneCompletionWithEveryByte) {
  ASSERT_NO_FATAL_FAILURE(Open());
  if (IsSkipped()) return;
  const AlignedBuffer first = Buffer(kPage, 1), last = Buffer(kPage, 2);
  const uint64_t offset = uint64_t{3} << 30;
  ASSERT_TRUE(RunOne(*engine_, WriteOf(offset, first.span())));
  ASSERT_TRUE(RunOne(*engine_, WriteOf(offset + kLarge - kPage, last.span())));
  const Mapping memory(kLarge);
  ASSERT_NO_FATAL_FAILURE(memory.Fill());
  ASSERT_TRUE(RunOne(*engine_, ReadOf(offset, memory.span())));
  EXPECT_TRUE(Same(memory.span().first(kPage), first.span()));
  EXPECT_TRUE(Same(memory.span().last(kPage), last.span()));
  EXPECT_EQ(engine_->counters().read_bytes, kLarge);
}

TEST_P(LargeFiles, OffsetsOverFourGibibytesAreTheirOwnPlaces) {
  ASSERT_NO_FATAL_FAILURE(Open());
  if (IsSkipped()) return;
  const AlignedBuffer written = Buffer(4 * kPage, 3), read = Buffer(4 * kPage, 4);
  constexpr uint64_t kFour = uint64_t{1} << 32;
  for (const uint64_t offset : {kFour - 2 * kPage, kFour + 8 * kPage, kFour + (uint64_t{1} << 31)}) {
    ASSERT_TRUE(RunOne(*engine_, WriteOf(offset, written.span())));
    ASSERT_TRUE(RunOne(*engine_, ReadOf(offset, read.span())));
    EXPECT_TRUE(Same(written.span(), read.span()));
    const uint64_t lower = offset < kFour ? 0 : offset - kFour;  // where 32 bits would have put what lies past 4 GiB
    ASSERT_TRUE(RunOne(*engine_, ReadOf(lower, read.span())));
    EXPECT_TRUE(Same(read.span(), Buffer(4 * kPage).span())) << offset;
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, LargeFiles, testing::Values("io_uring", "libaio", "posix"),
                         [](const auto& instance) { return instance.param; });

class Signals : public testing::TestWithParam<std::string> {
 protected:
  // Writes and reads back `rounds` times. 0: all was well; for a child process too.
  int Transfer(int rounds) const {
    auto engine = MakeEngine(GetParam(), {.depth = 4, .block_bytes = 16 * kPage, .requests_max = 16});
    if (!engine) return 10;
    const SwapFile file = SwapFile::Create(directory_.File("swap"), kFileBytes).value();
    (*engine)->AddFile(file.block_file());
    const AlignedBuffer read = Buffer(kFileBytes);
    int result = 0;
    for (int round = 1; round <= rounds && result == 0; ++round) {
      const AlignedBuffer written = Buffer(kFileBytes, static_cast<uint32_t>(round));
      if (!RunOne(**engine, WriteOf(0, written.span()))) result = 11;
      if (!RunOne(**engine, ReadOf(0, read.span()))) result = 12;
      if (!Same(written.span(), read.span())) result = 13;
    }
    engine->reset();
    return result;
  }
  void SkipIfRefused() const {
    if (const auto made = MakeEngine(GetParam(), {.depth = 1}); !made) GTEST_SKIP() << made.error().message;
  }
  TestDirectory directory_;
};

// Without SA_RESTART: every system call that waits ends with EINTR, a thousand times a second.
TEST_P(Signals, ATimerThatInterruptsEveryWaitChangesNothing) {
  ASSERT_NO_FATAL_FAILURE(SkipIfRefused());
  if (IsSkipped()) return;
  struct sigaction ring {};
  struct sigaction before {};
  ring.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGALRM, &ring, &before), 0);
  const itimerval often{{0, 1000}, {0, 1000}};
  ASSERT_EQ(::setitimer(ITIMER_REAL, &often, nullptr), 0);
  EXPECT_EQ(Transfer(8), 0);
  const itimerval never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
}

TEST_P(Signals, AProcessThatIsStoppedAndContinuedGoesOn) {
  ASSERT_NO_FATAL_FAILURE(SkipIfRefused());
  if (IsSkipped()) return;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(Transfer(8));
  int status = 0;
  for (int stops = 0; stops < 40; ++stops) {
    ::kill(child, SIGSTOP);
    ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
    if (!WIFSTOPPED(status)) break;  // it has ended already
    ::kill(child, SIGCONT);
    ASSERT_EQ(::waitpid(child, &status, WCONTINUED), child);
    if (!WIFCONTINUED(status)) break;
  }
  if (!WIFEXITED(status)) {
    ASSERT_EQ(::waitpid(child, &status, 0), child);
  }
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

INSTANTIATE_TEST_SUITE_P(Engines, Signals, testing::Values("io_uring", "libaio", "posix"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace tidemill::io
