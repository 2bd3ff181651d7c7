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

TEST_F(SwapSpaceTest, LeavesNothingBehind) {
  Open().reset();
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

}  // namespace
}  // namespace tidemill::offload
