#include "io/io_queue.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/io/engine_fixture.h"

namespace tidemill::io {
namespace {

constexpr size_t kPage = kAlignmentBytes;

class IoQueueTest : public testing::TestWithParam<std::string> {
 protected:
  void Open(const EngineLimits& limits) {
    auto made = MakeEngine(GetParam(), limits);
    if (!made) GTEST_SKIP() << made.error().message;
    file_ = std::make_unique<SwapFile>(SwapFile::Create(directory_.File("swap"), kFileBytes).value());
    (*made)->AddFile(file_->block_file());
    queue_ = std::make_unique<IoQueue>(std::move(*made));
  }
  TestDirectory directory_;
  std::unique_ptr<SwapFile> file_;
  std::unique_ptr<IoQueue> queue_;
};

TEST_P(IoQueueTest, ServesManyThreadsEachWithItsOwnBytes) {
  ASSERT_NO_FATAL_FAILURE(Open({.depth = 4, .block_bytes = 2 * kPage, .requests_max = 12}));
  if (IsSkipped()) return;
  std::vector<std::thread> threads;
  for (uint32_t lane = 0; lane < 4; ++lane) {
    threads.emplace_back([&, lane] {
      const AlignedBuffer written = Buffer(32 * kPage, lane + 1), read = Buffer(32 * kPage);
      IoBatch batch;
      for (int round = 0; round < 10; ++round) {
        for (const auto op : {IoRequest::Op::kWrite, IoRequest::Op::kRead}) {
          std::vector<IoRequest> requests;
          for (size_t i = 0; i < 8; ++i)
            requests.push_back(
                {.op = op,
                 .offset_bytes = (lane * 32 + i * 4) * kPage,
                 .buffer = (op == IoRequest::Op::kWrite ? written : read).span().subspan(i * 4 * kPage, 4 * kPage),
                 .priority = static_cast<Priority>(lane % kPriorities)});
          queue_->Submit(requests, batch);
          ASSERT_TRUE(batch.Wait());
          ASSERT_TRUE(batch.Done());
        }
        ASSERT_TRUE(Same(written.span(), read.span()));
        std::fill(read.span().begin(), read.span().end(), std::byte{0});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(queue_->counters().written_bytes, 4U * 10 * 32 * kPage);
  EXPECT_TRUE(queue_->Flush());
}

TEST_P(IoQueueTest, TellsOnlyTheBatchOfARefusedRequest) {
  ASSERT_NO_FATAL_FAILURE(Open({.depth = 4, .block_bytes = kPage, .requests_max = 8}));
  if (IsSkipped()) return;
  const AlignedBuffer buffer = Buffer(kPage, 1);
  const IoRequest good = WriteOf(0, buffer.span()), bad = WriteOf(kFileBytes, buffer.span());
  IoBatch first, second;
  for (int round = 0; round < 20; ++round) {
    queue_->Submit({&good, 1}, first);
    queue_->Submit({&bad, 1}, second);
    EXPECT_TRUE(first.Wait());
    const Status refused = second.Wait();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST_P(IoQueueTest, EndsEveryBatchBeforeItIsGone) {
  ASSERT_NO_FATAL_FAILURE(Open({.depth = 2, .block_bytes = kPage, .requests_max = 8}));
  if (IsSkipped()) return;
  const AlignedBuffer buffer = Buffer(kFileBytes, 1);
  IoBatch batch;
  const IoRequest request = WriteOf(0, buffer.span());
  queue_->Submit({&request, 1}, batch);
  queue_.reset();
  EXPECT_TRUE(batch.Done());
  EXPECT_TRUE(batch.Wait());
}

INSTANTIATE_TEST_SUITE_P(Engines, IoQueueTest, testing::Values("io_uring", "libaio", "posix", "interrupted"),
                         [](const auto& instance) { return instance.param; });

// A drive that finishes nothing until it is told to, and shows what it was given.
TEST(Priorities, ADemandIsStartedBeforeEveryWriteNotYetStarted) {
  constexpr size_t kDepth = 8;
  constexpr uint64_t kBlock = 64 * kKiB;
  const AlignedBuffer buffer = Buffer(kFileBytes);  // outlives the engine, which ends with requests outstanding
  auto drive = std::make_unique<fakes::MemoryTransport>(kDepth, kFileBytes, /*per_collect=*/1);
  const fakes::MemoryTransport& record = *drive;
  Engine engine(std::move(drive), {.depth = kDepth, .block_bytes = kBlock, .requests_max = 128});
  engine.AddFile({.fd = -1, .path = "memory", .capacity_bytes = kFileBytes});
  // 256 MiB of write-back, and prefetch too; then a demand for one page.
  for (int i = 0; i < 64; ++i) {
    IoRequest write = WriteOf(0, buffer.span());
    write.priority = Priority::kWriteBack;
    ASSERT_TRUE(engine.Submit({&write, 1}));
  }
  IoRequest prefetch = ReadOf(0, buffer.span());
  prefetch.priority = Priority::kPrefetch;
  ASSERT_TRUE(engine.Submit({&prefetch, 1}));
  const IoRequest demand = ReadOf(0, buffer.span().first(kPage), 77);
  ASSERT_TRUE(engine.Submit({&demand, 1}));
  ASSERT_EQ(record.started().size(), kDepth);  // what the drive had when the demand came

  std::vector<IoCompletion> done(8);
  bool finished = false;
  while (!finished) {
    const size_t count = engine.Reap(done, 1).value();
    for (size_t i = 0; i < count; ++i) finished = finished || done[i].tag == 77;
  }
  EXPECT_EQ(record.started()[kDepth].bytes, kPage);  // the very next
  // It ended with the queue still full: the drive had finished only what it had before, and the demand.
  EXPECT_LE(record.started().size(), 2 * kDepth + 1);
}

}  // namespace
}  // namespace tidemill::io
