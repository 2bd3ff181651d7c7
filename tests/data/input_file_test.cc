#include "data/input_file.h"

#include "tests/base/file_fixture.h"

namespace tidemill::data {
namespace {

using InputFileTest = FileTest;

TEST_F(InputFileTest, ReadsFromAnyOffsetAndNamesAnEarlyEnd) {
  const InputFile file = InputFile::Open(Write("a.bin", "0123456789")).value();
  EXPECT_EQ(file.bytes(), 10U);
  std::string text(3, ' ');
  ASSERT_TRUE(file.ReadAt(7, std::as_writable_bytes(std::span(text))).has_value());
  EXPECT_EQ(text, "789");
  const Status early = file.ReadAt(8, std::as_writable_bytes(std::span(text)));
  ASSERT_FALSE(early.has_value());
  EXPECT_NE(early.error().message.find("1 bytes missing"), std::string::npos) << early.error().message;
}

TEST_F(InputFileTest, RefusesWhatIsNotARegularFile) {
  EXPECT_EQ(InputFile::Open(Path("")).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(InputFile::Open(Path("absent")).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(InputFileTest, RefusesATextFileBeyondItsLimit) {
  const std::string path = Write("a.json", "0123456789");
  EXPECT_EQ(ReadTextFile(path, 10).value(), "0123456789");
  EXPECT_FALSE(ReadTextFile(path, 9).has_value());
}

TEST_F(InputFileTest, WhatIsThereAndCannotBeOpenedIsNoMissingFile) {
  std::filesystem::create_symlink("loop", Path("loop"));
  EXPECT_TRUE(FileIsThere(Path("loop")));
  EXPECT_EQ(InputFile::Open(Path("loop")).error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(FileIsThere(Write("a", "")));
  EXPECT_FALSE(FileIsThere(Path("absent")));
  EXPECT_FALSE(FileIsThere(Path("a/absent")));
}

}  // namespace
}  // namespace tidemill::data
