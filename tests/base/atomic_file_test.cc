#include "base/atomic_file.h"

#include <utility>

#include "tests/base/file_fixture.h"

namespace tidemill {
namespace {

using AtomicFileTest = FileTest;

TEST_F(AtomicFileTest, ReplacesTheOldContentsAtCommitOnly) {
  Write("state.json", "old");
  AtomicFile file = AtomicFile::Create(Path("state.json")).value();
  ASSERT_TRUE(file.Append("ne").has_value());
  ASSERT_TRUE(file.Append("w").has_value());
  EXPECT_EQ(Read("state.json"), "old");
  ASSERT_TRUE(file.Seal().has_value());
  EXPECT_EQ(Read("state.json"), "old");
  ASSERT_TRUE(file.Commit().has_value());
  EXPECT_EQ(Read("state.json"), "new");
  EXPECT_EQ(Listing(), "state.json");
}

TEST_F(AtomicFileTest, LeavesNothingBehindWithoutCommit) {
  Write("state.json", "old");
  {
    AtomicFile file = AtomicFile::Create(Path("state.json")).value();
    ASSERT_TRUE(file.Append("half").has_value());
    EXPECT_EQ(Listing(), "state.json state.json.partial");
    const AtomicFile moved = std::move(file);
  }
  EXPECT_EQ(Read("state.json"), "old");
  EXPECT_EQ(Listing(), "state.json");
}

TEST_F(AtomicFileTest, ReplacesWhatAKilledProcessLeft) {
  Write("state.json.partial", "a much longer text of a run that was killed");
  ASSERT_TRUE(WriteFileAtomically(Path("state.json"), "new").has_value());
  EXPECT_EQ(Read("state.json"), "new");
  EXPECT_EQ(Listing(), "state.json");
}

TEST_F(AtomicFileTest, AFullDiskIsNamedAndKeepsTheOldFile) {
  Write("state.json", "old");
  const FileSizeLimit limit(1000);
  const Status status = WriteFileAtomically(Path("state.json"), std::string(1001, 'x'));
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kNoSpace);
  EXPECT_NE(status.error().message.find(Path("state.json")), std::string::npos) << status.error().message;
  EXPECT_EQ(Read("state.json"), "old");
  EXPECT_EQ(Listing(), "state.json");
}

TEST_F(AtomicFileTest, NamesADirectoryThatIsNotThere) {
  const auto file = AtomicFile::Create(Path("missing/state.json"));
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().code, ErrorCode::kIo);
  EXPECT_NE(file.error().message.find("missing/state.json"), std::string::npos);
}

TEST_F(AtomicFileTest, ARefusedRenameLeavesNoPartialFile) {
  std::filesystem::create_directories(Path("taken/inside"));
  EXPECT_FALSE(WriteFileAtomically(Path("taken"), "text").has_value());
  EXPECT_EQ(Listing(), "taken");
}

}  // namespace
}  // namespace tidemill
