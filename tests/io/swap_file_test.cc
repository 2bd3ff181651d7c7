#include "io/swap_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/io/engine_fixture.h"

namespace tidemill::io {
namespace {

TEST(SwapFile, ReservesItsBlocksAndGoesAway) {
  const TestDirectory directory;
  const std::string path = directory.File("tidemill-swap");
  {
    const SwapFile file = SwapFile::Create(path, 10'000).value();
    EXPECT_EQ(file.capacity_bytes(), 12'288U);
    struct stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_size, 12'288);
    EXPECT_GE(info.st_blocks * 512, 12'288);
    EXPECT_EQ(info.st_mode & 077U, 0U);  // model state is its owner's
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SwapFile, StaysWhenKeptAndOpensAgain) {
  const TestDirectory directory;
  const std::string path = directory.File("tidemill-swap");
  SwapFile::Create(path, kMiB).value().Keep();
  {
    SwapFile again = SwapFile::Open(path, kMiB).value();
    EXPECT_EQ(again.capacity_bytes(), kMiB);
  }
  EXPECT_TRUE(std::filesystem::exists(path));
  {
    SwapFile last = SwapFile::Open(path, kMiB).value();
    last.RemoveAtEnd();
    const SwapFile moved = std::move(last);
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SwapFile, NeverReplacesWhatIsThere) {
  const TestDirectory directory;
  const std::string path = directory.File("tidemill-swap");
  SwapFile::Create(path, kMiB).value().Keep();
  const auto second = SwapFile::Create(path, kMiB);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kIo);
  EXPECT_EQ(std::filesystem::file_size(path), kMiB);
}

TEST(SwapFile, NamesNeedAndFreeSpaceWhenItDoesNotFit) {
  const TestDirectory directory;
  const auto file = SwapFile::Create(directory.File("tidemill-swap"), uint64_t{1} << 43);  // under ext4's 16 TiB
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kDoesNotFit) << file.error().message;
  EXPECT_NE(file.error().message.find("needs 8.00 TiB, free "), std::string::npos) << file.error().message;
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(SwapFile, NamesExpectedAndFoundSizeWhenItWasCut) {
  const TestDirectory directory;
  const std::string path = directory.File("tidemill-swap");
  SwapFile::Create(path, kMiB).value().Keep();
  std::filesystem::resize_file(path, kMiB - 1);
  const auto file = SwapFile::Open(path, kMiB);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(file.error().message.find("expected 1048576 bytes, found 1048575"), std::string::npos)
      << file.error().message;
}

TEST(SwapFile, NamesAMissingDirectory) {
  const auto file = SwapFile::Create("/nonexistent-folder/tidemill-swap", kMiB);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(file.error().message.find("/nonexistent-folder/tidemill-swap"), std::string::npos);
}

TEST(SwapFile, IsBufferedOnRequest) {
  const TestDirectory directory;
  const SwapFile file = SwapFile::Create(directory.File("tidemill-swap"), kMiB, /*want_direct=*/false).value();
  EXPECT_FALSE(file.direct());
  EXPECT_EQ(::fcntl(file.block_file().fd, F_GETFL) & O_DIRECT, 0);
}

}  // namespace
}  // namespace tidemill::io
