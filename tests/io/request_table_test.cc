#include "io/request_table.h"

#include <gtest/gtest.h>

#include "tests/io/engine_fixture.h"

namespace tidemill::io {
namespace {

constexpr uint64_t kBlock = kMiB;

IoRequest Ask(Priority priority, std::span<std::byte> buffer, uint64_t tag) {
  return {.op = priority == Priority::kWriteBack ? IoRequest::Op::kWrite : IoRequest::Op::kRead,
          .buffer = buffer,
          .tag = tag,
          .priority = priority};
}

class RequestTableTest : public testing::Test {
 protected:
  RequestTableTest() { table_.AddFile(); }
  RequestTable table_{64, kBlock, /*depth=*/64};
  AlignedBuffer buffer_ = Buffer(64 * kBlock);
  uint64_t TagOfNext() {
    const Piece piece = table_.Next().value();
    return table_.request(piece.slot).tag;
  }
};

TEST_F(RequestTableTest, StartsADemandBeforeEverythingNotYetStarted) {
  table_.Push(Ask(Priority::kWriteBack, buffer_.span(), 1));
  table_.Push(Ask(Priority::kPrefetch, buffer_.span(), 2));
  for (int i = 0; i < 5; ++i) table_.Next();
  table_.Push(Ask(Priority::kDemand, buffer_.span().first(2 * kBlock), 3));
  EXPECT_EQ(TagOfNext(), 3U);
  EXPECT_EQ(TagOfNext(), 3U);
  EXPECT_NE(TagOfNext(), 3U);
}

TEST_F(RequestTableTest, SharesTheDriveByBytes) {
  for (uint64_t i = 0; i < 8; ++i) table_.Push(Ask(Priority::kPrefetch, buffer_.span().first(kBlock / 4), 1));
  for (uint64_t i = 0; i < 8; ++i) table_.Push(Ask(Priority::kWriteBack, buffer_.span().first(kBlock), 2));
  // Four small reads weigh as much as one large write.
  std::vector<uint64_t> order;
  for (int i = 0; i < 10; ++i) order.push_back(TagOfNext());
  EXPECT_EQ(std::count(order.begin(), order.end(), 1U), 8);
  EXPECT_EQ(std::count(order.begin(), order.end(), 2U), 2);
}

TEST_F(RequestTableTest, OwesNothingToWhoComesLate) {
  table_.Push(Ask(Priority::kPrefetch, buffer_.span(), 1));
  for (int i = 0; i < 30; ++i) table_.Next();  // alone with the drive
  table_.Push(Ask(Priority::kWriteBack, buffer_.span(), 2));
  std::vector<uint64_t> order;
  for (int i = 0; i < 8; ++i) order.push_back(TagOfNext());
  EXPECT_EQ(std::count(order.begin(), order.end(), 1U), 4);
}

TEST_F(RequestTableTest, LeavesOutTheRestOfAFailedRequest) {
  table_.Push(Ask(Priority::kDemand, buffer_.span(), 1));
  table_.Push(Ask(Priority::kDemand, buffer_.span().first(kBlock), 2));
  const Piece first = table_.Next().value(), second = table_.Next().value();
  EXPECT_FALSE(table_.Finish(second, Fail(ErrorCode::kStorage, "bad")));
  EXPECT_EQ(TagOfNext(), 2U);
  const auto done = table_.Finish(first, Ok());
  ASSERT_TRUE(done);
  EXPECT_EQ(done->tag, 1U);
  EXPECT_EQ(done->status.error().message, "bad");
  EXPECT_FALSE(table_.Next());
}

TEST_F(RequestTableTest, EndsWhenThePiecesDoAndReusesTheSlot) {
  for (uint64_t round = 0; round < 200; ++round) {
    table_.Push(Ask(Priority::kDemand, buffer_.span().first(3 * kBlock / 2), round));
    const Piece a = table_.Next().value(), b = table_.Next().value();
    EXPECT_EQ(b.end - b.begin, kBlock / 2);
    EXPECT_FALSE(table_.Finish(b, Ok()));
    EXPECT_EQ(table_.Finish(a, Ok()).value().tag, round);
    EXPECT_EQ(table_.size(), 0U);
  }
}

TEST_F(RequestTableTest, GivesEachFileAnEvenPartOfTheDepthAndTheFilesTheirTurns) {
  for (int i = 0; i < 3; ++i) table_.AddFile();  // four, with 16 pieces each
  IoRequest request = Ask(Priority::kDemand, buffer_.span(), 0);
  for (request.file = 0; request.file < 2; ++request.file) table_.Push(request);
  std::vector<uint32_t> order;
  std::vector<Piece> started;
  while (const auto piece = table_.Next()) {
    started.push_back(*piece);
    order.push_back(table_.request(piece->slot).file);
  }
  ASSERT_EQ(order.size(), 32U);
  for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], i % 2) << i;
  // The first file is the fast one: what it finishes makes room for itself, not for the one that is slow.
  for (size_t i = 0; i < started.size(); i += 2) EXPECT_FALSE(table_.Finish(started[i], Ok()));
  while (const auto piece = table_.Next()) EXPECT_EQ(table_.request(piece->slot).file, 0U);
}

TEST_F(RequestTableTest, ForgetsWhatWasNotStarted) {
  table_.Push(Ask(Priority::kDemand, buffer_.span(), 1));
  table_.Push(Ask(Priority::kWriteBack, buffer_.span(), 2));
  const Piece started = table_.Next().value();
  table_.DropWaiting();
  EXPECT_FALSE(table_.Next());
  EXPECT_EQ(table_.size(), 1U);
  EXPECT_TRUE(table_.Finish(started, Ok()));
}

}  // namespace
}  // namespace tidemill::io
