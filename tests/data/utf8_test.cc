#include "data/utf8.h"

#include <gtest/gtest.h>

#include "data/unicode_class.h"

namespace tidemill::data {
namespace {

TEST(Utf8, RepairsAsPythonDoes) {
  const std::string bad = std::string(kReplacementCharacter);
  const std::pair<std::string, std::string> cases[] = {
      {"plain", "plain"},
      {"caf\xC3\xA9 \xF0\x9F\x91\x8D", "caf\xC3\xA9 \xF0\x9F\x91\x8D"},
      {"ok \xFF bad", "ok " + bad + " bad"},
      {"\xE2\x82 truncated", bad + " truncated"},
      {"\xC3(", bad + "("},
      {"\xF0\x9F\x92", bad},
      {"\xED\xA0\x80", bad + bad + bad},  // a surrogate
      {"\xC0\xAF", bad + bad},            // overlong
      {"\xE0\x80\x80", bad + bad + bad},
      {"\xF4\x90\x80\x80", bad + bad + bad + bad},  // above U+10FFFF
      {"\xF8\x88\x80\x80\x80", bad + bad + bad + bad + bad},
      {"\x80", bad},
  };
  for (const auto& [text, repaired] : cases) {
    EXPECT_EQ(RepairUtf8(text), repaired);
    EXPECT_EQ(IsUtf8(text), text == repaired);
  }
}

TEST(Utf8, CountsTheBytesOfAnUnfinishedCharacter) {
  EXPECT_EQ(UnfinishedTailBytes(""), 0u);
  EXPECT_EQ(UnfinishedTailBytes("abc"), 0u);
  EXPECT_EQ(UnfinishedTailBytes("a\xF0"), 1u);
  EXPECT_EQ(UnfinishedTailBytes("a\xF0\x9F"), 2u);
  EXPECT_EQ(UnfinishedTailBytes("a\xF0\x9F\x91"), 3u);
  EXPECT_EQ(UnfinishedTailBytes("a\xF0\x9F\x91\x8D"), 0u);
  EXPECT_EQ(UnfinishedTailBytes("\xED\xA0"), 0u);  // no byte could make this good
  EXPECT_EQ(UnfinishedTailBytes("\x80\x80\x80"), 0u);
}

TEST(Utf8, ReadsBackwards) {
  const std::string text = "a\xC3\xA9\xF0\x9F\x91\x8D";
  EXPECT_EQ(CodeBefore(text, 1), 'a');
  EXPECT_EQ(CodeBefore(text, 3), 0xE9u);
  EXPECT_EQ(CodeBefore(text, 7), 0x1F44Du);
}

TEST(UnicodeClass, KnowsTheClassesOfRareCharacters) {
  EXPECT_EQ(ClassesOf('a'), kLetter | kWord);
  EXPECT_EQ(ClassesOf('_'), kWord);
  EXPECT_EQ(ClassesOf('!'), 0);
  EXPECT_EQ(ClassesOf(0x85), kSpace);
  EXPECT_EQ(ClassesOf(0x3000), kSpace);
  EXPECT_EQ(ClassesOf(0x200B), 0);                                 // zero width space is none
  EXPECT_EQ(ClassesOf(0xBD), kNumber | kNumeric);                  // one half
  EXPECT_EQ(ClassesOf(0x663), kNumber | kNumeric | kWord);         // an Arabic-Indic digit
  EXPECT_EQ(ClassesOf(0x301), kWord);                              // a combining accent
  EXPECT_EQ(ClassesOf(0x1C89), kLetter | kWord);                   // new in Unicode 16
  EXPECT_EQ(ClassesOf(0x11DE0) & (kNumber | kNumeric), kNumeric);  // new in 17: Digits knows it, the regex does not
  EXPECT_EQ(ClassesOf(0x10FFFF), 0);
}

}  // namespace
}  // namespace tidemill::data
