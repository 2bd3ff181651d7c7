#include "offload/commit_record.h"

#include <sys/stat.h>

#include "tests/base/file_fixture.h"

namespace tidemill::offload {
namespace {

class CommitRecordTest : public FileTest {
 protected:
  CommitRecordTest() {
    std::filesystem::create_directories(Path("a"));
    std::filesystem::create_directories(Path("b"));
  }
  CommitRecord Record(const std::string& run) const {
    return {
        run,
        {{Path("a"), "tidemill-swap.bin", 1 << 20}, {Path("b"), "tidemill-swap.bin", 2 << 20}},
        {{"embed.0.param", {{0, 4096, 8192, 0xdeadbeef}, {1, 0, 4096, 7}}}, {"final.exp_avg", {{1, 4096, 4096, 0}}}}};
  }
};

TEST_F(CommitRecordTest, IsReadBackFromEveryDirectory) {
  ASSERT_TRUE(WriteCommitRecord(Record("step \"7\"\n")).has_value());
  for (const char* const directory : {"a", "b"}) {
    const auto record = ReadCommitRecord(Path(directory)).value();
    ASSERT_TRUE(record.has_value());
    EXPECT_EQ(record->run, "step \"7\"\n");
    ASSERT_EQ(record->files.size(), 2U);
    EXPECT_EQ(record->files[1].path(), Path("b") + "/tidemill-swap.bin");
    EXPECT_EQ(record->files[1].bytes, 2U << 20);
    ASSERT_EQ(record->pages.size(), 2U);
    EXPECT_EQ(record->pages[0].name, "embed.0.param");
    ASSERT_EQ(record->pages[0].extents.size(), 2U);
    EXPECT_EQ(record->pages[0].extents[0].offset, 4096U);
    EXPECT_EQ(record->pages[0].extents[0].bytes, 8192U);
    EXPECT_EQ(record->pages[0].extents[0].checksum, 0xdeadbeefU);
    EXPECT_EQ(record->pages[0].extents[1].file, 1U);
  }
}

TEST_F(CommitRecordTest, ADirectoryWithoutOneHasNone) {
  EXPECT_FALSE(ReadCommitRecord(Path("a")).value().has_value());
  EXPECT_FALSE(ReadCommitRecord(Path("missing")).value().has_value());
}

TEST_F(CommitRecordTest, IsForItsOwnerAloneAndARegularFile) {
  ASSERT_TRUE(WriteCommitRecord(Record("x")).has_value());
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(Path("a") + "/tidemill-commit").permissions(),
            perms::owner_read | perms::owner_write);
  std::filesystem::remove(Path("a") + "/tidemill-commit");
  std::filesystem::create_symlink("/dev/zero", Path("a") + "/tidemill-commit");
  EXPECT_FALSE(ReadCommitRecord(Path("a")).value().has_value());
  std::filesystem::remove(Path("a") + "/tidemill-commit");
  ASSERT_EQ(mkfifo((Path("a") + "/tidemill-commit").c_str(), 0600), 0);
  EXPECT_FALSE(ReadCommitRecord(Path("a")).value().has_value());
  EXPECT_EQ(ReadCommitRecord(Path("b")).value()->here, 1U);
}

TEST_F(CommitRecordTest, FollowsADirectoryThatWasMoved) {
  ASSERT_TRUE(WriteCommitRecord(Record("x")).has_value());
  std::filesystem::rename(Path("b"), Path("c"));
  const auto record = ReadCommitRecord(Path("c")).value();
  EXPECT_EQ(record->files[1].path(), Path("c") + "/tidemill-swap.bin");
  EXPECT_EQ(record->files[0].path(), Path("a") + "/tidemill-swap.bin");
}

TEST_F(CommitRecordTest, AnyChangedOrMissingByteIsFound) {
  ASSERT_TRUE(WriteCommitRecord(Record("x")).has_value());
  const std::string text = Read("a/tidemill-commit");
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] ^= 1;
    Write("a/tidemill-commit", changed);
    EXPECT_EQ(ReadCommitRecord(Path("a")).error().code, ErrorCode::kCorrupt) << i;
    Write("a/tidemill-commit", text.substr(0, i));
    EXPECT_EQ(ReadCommitRecord(Path("a")).error().code, ErrorCode::kCorrupt) << i;
  }
}

TEST_F(CommitRecordTest, AFullDiskKeepsTheOldOne) {
  ASSERT_TRUE(WriteCommitRecord(Record("old")).has_value());
  {
    const FileSizeLimit limit(100);
    const Status status = WriteCommitRecord(Record("new"));
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, ErrorCode::kNoSpace);
  }
  EXPECT_EQ(ReadCommitRecord(Path("a")).value()->run, "old");
  EXPECT_EQ(Listing("a"), "tidemill-commit");
}

}  // namespace
}  // namespace tidemill::offload
