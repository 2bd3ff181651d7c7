// What every engine does, fakes included: a fake cannot drift from the drive.

#include <set>

#include "io/unaligned.h"
#include "tests/io/engine_fixture.h"

namespace tidemill::io {
namespace {

constexpr size_t kPage = kAlignmentBytes;

class EngineContract : public testing::TestWithParam<std::string> {
 protected:
  // Skips, with the reason, where this machine refuses the engine.
  void Open(const EngineLimits& limits = {.depth = 8, .block_bytes = 64 * kKiB, .requests_max = 64}) {
    auto made = MakeEngine(GetParam(), limits);
    if (!made) GTEST_SKIP() << made.error().message;
    engine_ = std::move(*made);
    file_ = std::make_unique<SwapFile>(SwapFile::Create(directory_.File("swap"), kFileBytes).value());
    ASSERT_EQ(engine_->AddFile(file_->block_file()), 0U);
  }

  TestDirectory directory_;
  std::unique_ptr<SwapFile> file_;
  std::unique_ptr<Engine> engine_;  // before the file, as its contract says
};

TEST_P(EngineContract, ReadsBackWhatWasWritten) {
  ASSERT_NO_FATAL_FAILURE(Open());
  if (IsSkipped()) return;
  for (const size_t pages : {1U, 3U, 16U, 17U, 100U}) {
    AlignedBuffer written = Buffer(pages * kPage, static_cast<uint32_t>(pages)), read = Buffer(pages * kPage);
    ASSERT_TRUE(RunOne(*engine_, WriteOf(3 * kPage, written.span())));
    ASSERT_TRUE(RunOne(*engine_, ReadOf(3 * kPage, read.span())));
    EXPECT_TRUE(Same(written.span(), read.span())) << pages;
  }
}

TEST_P(EngineContract, LeavesNeighboursUntouched) {
  ASSERT_NO_FATAL_FAILURE(Open());
  if (IsSkipped()) return;
  AlignedBuffer all = Buffer(kFileBytes, 5), patch = Buffer(10 * kPage, 6), read = Buffer(kFileBytes);
  ASSERT_TRUE(RunOne(*engine_, WriteOf(0, all.span())));
  ASSERT_TRUE(RunOne(*engine_, WriteOf(7 * kPage, patch.span())));
  std::copy(patch.span().begin(), patch.span().end(), all.span().begin() + 7 * kPage);
  ASSERT_TRUE(RunOne(*engine_, ReadOf(0, read.span())));
  EXPECT_TRUE(Same(all.span(), read.span()));
}

TEST_P(EngineContract, MovesAnySizeAtAnyOffsetAndAddress) {
  ASSERT_NO_FATAL_FAILURE(Open());
  if (IsSkipped()) return;
  auto unaligned = UnalignedIo::Make(*engine_, 4 * kPage).value();
  AlignedBuffer expected = Buffer(64 * kPage, 7), memory = Buffer(64 * kPage, 8), read = Buffer(64 * kPage);
  ASSERT_TRUE(RunOne(*engine_, WriteOf(0, expected.span())));
  for (const size_t offset : {0U, 1U, 4095U, 4096U, 12'288U, 50'001U}) {
    for (const size_t bytes : {0U, 1U, 511U, 4095U, 4096U, 4097U, 8192U, 65'537U}) {
      for (const size_t shift : {0U, 1U, 64U}) {
        const auto source = memory.span().subspan(shift, bytes);
        ASSERT_TRUE(unaligned.Write(0, offset, source));
        std::copy(source.begin(), source.end(), expected.span().begin() + static_cast<std::ptrdiff_t>(offset));
        const auto target = read.span().subspan(shift, bytes);
        ASSERT_TRUE(unaligned.Read(0, offset, target));
        ASSERT_TRUE(Same(source, target)) << offset << ' ' << bytes << ' ' << shift;
      }
    }
  }
  ASSERT_TRUE(RunOne(*engine_, ReadOf(0, read.span())));
  EXPECT_TRUE(Same(expected.span(), read.span()));
}

TEST_P(EngineContract, CompletesEveryTagOnceAtAnyDepth) {
  for (const size_t depth : {1U, 2U, 3U, 64U}) {
    const size_t total = depth == 64 ? 1024 : 96;  // outstanding at once
    ASSERT_NO_FATAL_FAILURE(Open({.depth = depth, .block_bytes = kPage, .requests_max = 1024}));
    if (IsSkipped()) return;
    AlignedBuffer written = Buffer(total * kPage, 11), read = Buffer(total * kPage);
    for (const bool writing : {true, false}) {
      std::vector<IoRequest> requests;
      for (size_t i = 0; i < total; ++i) {
        const size_t page = i * 331 % total;  // a permutation
        requests.push_back({writing ? IoRequest::Op::kWrite : IoRequest::Op::kRead, 0, page * kPage,
                            (writing ? written : read).span().subspan(page * kPage, kPage), 1000 + i,
                            static_cast<Priority>(i % kPriorities)});
      }
      ASSERT_TRUE(engine_->Submit(requests));
      std::set<uint64_t> tags;
      std::vector<IoCompletion> done(100);
      while (tags.size() < total) {
        const size_t count = engine_->Reap(done, std::min<size_t>(7, total - tags.size())).value();
        for (size_t i = 0; i < count; ++i) {
          ASSERT_TRUE(done[i].status) << done[i].status.error().message;
          ASSERT_TRUE(tags.insert(done[i].tag).second) << done[i].tag;
        }
      }
      EXPECT_EQ(*tags.begin(), 1000U);
      EXPECT_EQ(*tags.rbegin(), 999U + total);
      EXPECT_EQ(engine_->outstanding(), 0U);
    }
    EXPECT_TRUE(Same(written.span(), read.span())) << depth;
    engine_.reset();
    file_.reset();
  }
}

TEST_P(EngineContract, RefusesARequestPastTheEndAndStartsNothing) {
  ASSERT_NO_FATAL_FAILURE(Open());
  if (IsSkipped()) return;
  AlignedBuffer buffer = Buffer(2 * kPage, 1);
  const IoRequest requests[] = {WriteOf(0, buffer.span()), WriteOf(kFileBytes - kPage, buffer.span())};
  const Status refused = engine_->Submit(requests);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(engine_->outstanding(), 0U);
  AlignedBuffer read = Buffer(2 * kPage, 2);
  ASSERT_TRUE(RunOne(*engine_, ReadOf(0, read.span())));
  EXPECT_TRUE(Same(read.span(), Buffer(2 * kPage).span()));
}

TEST_P(EngineContract, KeepsFilesApart) {
  ASSERT_NO_FATAL_FAILURE(Open());
  if (IsSkipped()) return;
  const SwapFile second = SwapFile::Create(directory_.File("second"), kFileBytes).value();
  ASSERT_EQ(engine_->AddFile(second.block_file()), 1U);
  AlignedBuffer a = Buffer(kPage, 1), b = Buffer(kPage, 2), read = Buffer(kPage);
  IoRequest request = WriteOf(kPage, b.span());
  request.file = 1;
  ASSERT_TRUE(RunOne(*engine_, request));
  ASSERT_TRUE(RunOne(*engine_, WriteOf(kPage, a.span())));
  request = ReadOf(kPage, read.span());
  request.file = 1;
  ASSERT_TRUE(RunOne(*engine_, request));
  EXPECT_TRUE(Same(read.span(), b.span()));
  engine_.reset();
}

TEST_P(EngineContract, CountsTheBytesThatMoved) {
  ASSERT_NO_FATAL_FAILURE(Open());
  if (IsSkipped()) return;
  AlignedBuffer buffer = Buffer(100 * kPage, 1);
  ASSERT_TRUE(RunOne(*engine_, WriteOf(0, buffer.span())));
  ASSERT_TRUE(RunOne(*engine_, ReadOf(0, buffer.span().first(50 * kPage))));
  EXPECT_EQ(engine_->counters().written_bytes, 100 * kPage);
  EXPECT_EQ(engine_->counters().read_bytes, 50 * kPage);
  EXPECT_EQ(engine_->counters().written_pieces, 7U);
  EXPECT_EQ(engine_->counters().buffered_bytes, file_->direct() ? 0U : 150 * kPage);
}

TEST_P(EngineContract, CompletesAnEmptyRequest) {
  ASSERT_NO_FATAL_FAILURE(Open());
  if (IsSkipped()) return;
  EXPECT_TRUE(RunOne(*engine_, ReadOf(0, {})));
  EXPECT_TRUE(engine_->Flush());
}

TEST_P(EngineContract, WaitsForTheDriveBeforeItIsGone) {
  ASSERT_NO_FATAL_FAILURE(Open({.depth = 4, .block_bytes = 16 * kPage, .requests_max = 64}));
  if (IsSkipped()) return;
  AlignedBuffer buffer = Buffer(kFileBytes, 3);
  const IoRequest requests[] = {WriteOf(0, buffer.span()), ReadOf(0, buffer.span())};
  ASSERT_TRUE(engine_->Submit(requests));
  engine_.reset();  // AddressSanitizer sees a drive that still writes into what follows
}

INSTANTIATE_TEST_SUITE_P(Engines, EngineContract,
                         testing::Values("io_uring", "libaio", "posix", "memory", "short", "interrupted"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace tidemill::io
