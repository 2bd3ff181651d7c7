#include "offload/swap_space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/aligned_buffer.h"
#include "base/byte_size.h"
#include "tests/fakes/refuse_direct.h"

namespace tidemill::offload {
namespace {

class SwapSpaceTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing::TempDir() + "/swap_space_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    buffer_ = std::move(*AlignedBuffer::Allocate(64 * kKiB));
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<SwapSpace> Open() {
    auto space =
        SwapSpace::Open({.directories = {directory_}, .identity = "a run"},
                        {{"a.param", 8192, true}, {"none", 0, false}, {"b.grad", 12288, false}}, buffer_.span());
    EXPECT_TRUE(space.has_value()) << space.error().message;
    return std::move(*space);
  }
  std::span<std::byte> Filled(size_t bytes, int value) {
    std::fill_n(buffer_.data(), bytes, static_cast<std::byte>(value));
    return buffer_.span().first(bytes);
  }
  std::string path() const { return directory_ + "/tidemill-swap.bin"; }

  std::string directory_;
  AlignedBuffer buffer_;
};

TEST_F(SwapSpaceTest, ReadsBackTheLastVersionOfEachPage) {
  const auto space = Open();
  for (int version = 1; version <= 3; ++version) {
    ASSERT_TRUE(space->WritePage(0, Filled(8192, version)).has_value());
    ASSERT_TRUE(space->WritePage(2, Filled(12288, 10 + version)).has_value());
    ASSERT_TRUE(space->ReadPage(0, Filled(8192, 0)).has_value());
    EXPECT_EQ(buffer_.span()[8191], static_cast<std::byte>(version));
    ASSERT_TRUE(space->ReadPage(2, Filled(12288, 0)).has_value());
    EXPECT_EQ(buffer_.span()[12287], static_cast<std::byte>(10 + version));
  }
}

TEST_F(SwapSpaceTest, APersistentPageKeepsItsOldSlotWhileTheNewOneIsWritten) {
  const auto space = Open();
  EXPECT_EQ(space->file_bytes(), 2U * 8192 + 12288);
  ASSERT_TRUE(space->WritePage(0, Filled(8192, 1)).has_value());
  ASSERT_TRUE(space->WritePage(0, Filled(8192, 2)).has_value());
  std::ifstream file(path(), std::ios::binary);
  EXPECT_EQ(file.get(), 1);
  file.seekg(8192);
  EXPECT_EQ(file.get(), 2);
}

TEST_F(SwapSpaceTest, AFlippedByteIsAnErrorThatNamesPageFileAndOffset) {
  const auto space = Open();
  ASSERT_TRUE(space->WritePage(2, Filled(12288, 7)).has_value());
  std::fstream(path(), std::ios::in | std::ios::out | std::ios::binary).seekp(2 * 8192 + 5000).put(8);
  const Status status = space->ReadPage(2, Filled(12288, 0));
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
  for (const std::string& part : {std::string("b.grad"), path(), std::string("16384")})
    EXPECT_NE(status.error().message.find(part), std::string::npos) << status.error().message;
}

TEST_F(SwapSpaceTest, ATruncatedFileIsAnErrorThatNamesIt) {
  const auto space = Open();
  ASSERT_TRUE(space->WritePage(2, Filled(12288, 7)).has_value());
  std::filesystem::resize_file(path(), 20000);
  const Status status = space->ReadPage(2, Filled(12288, 0));
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(status.error().message.find(path()), std::string::npos);
}

TEST_F(SwapSpaceTest, ARemovedFileIsAnErrorThatNamesPageFileAndOffset) {
  const auto space = Open();
  ASSERT_TRUE(space->WritePage(2, Filled(12288, 7)).has_value());
  std::filesystem::remove(path());
  const Status status = space->ReadPage(2, Filled(12288, 0));
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
  for (const std::string& part : {std::string("b.grad"), path(), std::string("offset 16384")})
    EXPECT_NE(status.error().message.find(part), std::string::npos) << status.error().message;
}

TEST_F(SwapSpaceTest, NothingIsCopiedOnceMoreByTheKernelWhereDirectTransfersWork) {
  const auto space = Open();
  if (!space->notes().empty()) GTEST_SKIP() << space->notes().front();
  ASSERT_TRUE(space->WritePage(0, Filled(8192, 1)).has_value());
  ASSERT_TRUE(space->ReadPage(0, Filled(8192, 0)).has_value());
  EXPECT_EQ(space->buffered_bytes(), 0U);
}

TEST_F(SwapSpaceTest, BytesThatTheKernelCopiesOnceMoreAreCounted) {
  const bool refused = fakes::WithoutDirectIo([this] {
    const auto space = Open();
    ASSERT_TRUE(space->WritePage(0, Filled(8192, 1)).has_value());
    ASSERT_TRUE(space->ReadPage(0, Filled(8192, 0)).has_value());
    EXPECT_EQ(space->buffered_bytes(), 2U * 8192);
    ASSERT_EQ(space->notes().size(), 1U);
    EXPECT_NE(space->notes().front().find("O_DIRECT is refused"), std::string::npos) << space->notes().front();
  });
  if (!refused) GTEST_SKIP() << "system call filters are not permitted here";
}

// Two directories: a fixed speed for each, so that nothing is measured, or none.
class SeveralDirectories : public SwapSpaceTest {
 protected:
  void SetUp() override {
    SwapSpaceTest::SetUp();
    second_ = directory_ + "/second";
    first_ = directory_ + "/first";
    std::filesystem::create_directories(first_);
    std::filesystem::create_directories(second_);
  }
  Result<std::unique_ptr<SwapSpace>> OpenBoth(std::vector<io::StorageSpeed> speeds, std::vector<SwapPage> pages) {
    return SwapSpace::Open({.directories = {first_, second_}, .speeds = std::move(speeds), .identity = "a run"},
                           std::move(pages), buffer_.span());
  }
  uint64_t Held(const std::string& directory) const {
    return std::filesystem::file_size(directory + "/tidemill-swap.bin");
  }
  std::string first_, second_;
};

TEST_F(SeveralDirectories, ShareThePagesByTheSpeedsOfTheProfileAndSaySo) {
  auto space = OpenBoth({{1e9, 1e9}, {3e9, 3e9}}, std::vector<SwapPage>(20, {"page", kMiB, true}));
  ASSERT_TRUE(space.has_value()) << space.error().message;
  EXPECT_NEAR(static_cast<double>(Held(second_)) / static_cast<double>(Held(first_)), 3, 0.15);
  EXPECT_EQ((*space)->file_bytes(), 40 * kMiB);
  const auto& notes = (*space)->notes();
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [&](const std::string& note) {
    return note.find("the profile's speed") != std::string::npos &&
           note.find(first_ + " 25.0 %") != std::string::npos && note.find(second_ + " 75.0 %") != std::string::npos;
  }));
}

TEST_F(SeveralDirectories, AreMeasuredWhereNothingIsKnownAndLeaveNothingBehind) {
  auto space = OpenBoth({}, std::vector<SwapPage>(4, {"page", 48 * kKiB, true}));
  ASSERT_TRUE(space.has_value()) << space.error().message;
  const auto& notes = (*space)->notes();
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(),
                          [](const std::string& note) { return note.find("measured speed") != std::string::npos; }));
  ASSERT_TRUE((*space)->WritePage(1, Filled(48 * kKiB, 1)).has_value());
  ASSERT_TRUE((*space)->ReadPage(1, Filled(48 * kKiB, 0)).has_value());
  space->reset();
  EXPECT_TRUE(std::filesystem::is_empty(first_));
  EXPECT_TRUE(std::filesystem::is_empty(second_));
}

TEST_F(SeveralDirectories, ThatAreTooSmallTogetherAreNamedWithWhatIsFree) {
  const auto space = OpenBoth({}, {{"page", uint64_t{1} << 50, true}});
  ASSERT_FALSE(space.has_value());
  EXPECT_EQ(space.error().code, ErrorCode::kDoesNotFit);
  for (const std::string& part : {first_ + " has ", second_ + " has ", std::string("bytes free")})
    EXPECT_NE(space.error().message.find(part), std::string::npos) << space.error().message;
  EXPECT_TRUE(std::filesystem::is_empty(first_));
}

TEST_F(SeveralDirectories, AFlippedByteNamesTheFileAndOffsetOfItsExtent) {
  auto space = OpenBoth({{1e9, 1e9}, {1e9, 1e9}}, {{"a.param", kMiB, true}});
  ASSERT_TRUE(space.has_value()) << space.error().message;
  buffer_ = std::move(*AlignedBuffer::Allocate(kMiB));
  for (int version = 1; version <= 2; ++version) ASSERT_TRUE((*space)->WritePage(0, Filled(kMiB, version)).has_value());
  // The second slot of the second extent.
  std::fstream(second_ + "/tidemill-swap.bin", std::ios::in | std::ios::out | std::ios::binary)
      .seekp(kMiB / 2 + 5000)
      .put(8);
  const Status status = (*space)->ReadPage(0, buffer_.span());
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
  for (const std::string& part : {std::string("a.param"), second_, std::string("offset 524288")})
    EXPECT_NE(status.error().message.find(part), std::string::npos) << status.error().message;
}

TEST_F(SwapSpaceTest, LeavesNothingBehind) {
  Open().reset();
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(SwapSpaceTest, WhatIsCommittedOutlivesLaterWritesAndTheProcess) {
  const std::string other = directory_ + "/other";
  std::filesystem::create_directories(other);
  const SwapConfig config{.directories = {directory_, other}, .speeds = {{1e9, 1e9}, {2e9, 2e9}}, .identity = "a run"};
  const uint64_t bytes = 512 * kKiB;
  buffer_ = std::move(*AlignedBuffer::Allocate(bytes));
  {
    const auto space = *SwapSpace::Open(config, {{"a", bytes, true}, {"b", 4096, true}, {"c", 8192, false}}, {});
    for (const int value : {1, 2}) {
      ASSERT_TRUE(space->WritePage(0, Filled(bytes, value)).has_value());
      ASSERT_TRUE(space->WritePage(1, Filled(4096, 10 + value)).has_value());
      ASSERT_TRUE(space->Commit("after " + std::to_string(value)).has_value());
    }
    for (const int value : {3, 4, 5}) ASSERT_TRUE(space->WritePage(0, Filled(bytes, value)).has_value());
    const auto record = ReadCommitRecord(other).value();
    EXPECT_FALSE(SwapSpace::OpenCommitted(*record).has_value());  // its run lives
    space->KeepFiles();
  }
  for (const std::string& directory : config.directories) {
    const auto record = ReadCommitRecord(directory).value();
    ASSERT_TRUE(record.has_value());
    EXPECT_EQ(record->run, "after 2");
    ASSERT_EQ(record->pages.size(), 2U);
    EXPECT_EQ(record->pages[0].extents.size(), 2U);
    const auto space = *SwapSpace::OpenCommitted(*record);
    ASSERT_TRUE(space->ReadPage(0, Filled(bytes, 0)).has_value());
    EXPECT_EQ(std::count(buffer_.data(), buffer_.data() + bytes, std::byte{2}), static_cast<std::ptrdiff_t>(bytes));
    ASSERT_TRUE(space->ReadPage(1, Filled(4096, 0)).has_value());
    EXPECT_EQ(buffer_.span()[4095], std::byte{12});
  }
  std::filesystem::remove(other + "/tidemill-swap.bin");
  EXPECT_EQ(SwapSpace::OpenCommitted(*ReadCommitRecord(directory_).value()).error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace tidemill::offload
