#include "data/byte_level.h"

#include <set>

#include "data/pre_tokenizer.h"
#include "tests/data/tokenizer_fixture.h"

namespace tidemill::data {
namespace {

TEST(ByteLevel, WritesEveryByteAsOneCharacterAndBack) {
  std::set<uint32_t> seen;
  for (int byte = 0; byte < 256; ++byte) {
    const uint32_t code = ByteLevelCode(static_cast<uint8_t>(byte));
    EXPECT_TRUE(seen.insert(code).second);
    std::string text;
    AppendUtf8(text, code);
    EXPECT_EQ(ByteLevelBytes(text), std::string(1, static_cast<char>(byte)));
  }
  EXPECT_EQ(ByteLevelCode(' '), 0x120u);
  EXPECT_EQ(ByteLevelCode('\n'), 0x10Au);
  EXPECT_EQ(ByteLevelCode('~'), '~');
  EXPECT_EQ(ByteLevelCode(0xAD), 0x143u);
}

TEST(ByteLevel, HasNoBytesForTextOutsideItsAlphabet) {
  EXPECT_EQ(ByteLevelBytes("a b"), std::nullopt);
  EXPECT_EQ(ByteLevelBytes("\xE6\x97\xA5"), std::nullopt);
  EXPECT_EQ(ByteLevelBytes(""), "");
}

std::string Pieces(const PreTokenizer& pre_tokenizer, std::string_view text) {
  std::string joined;
  pre_tokenizer.Cut(text, [&](std::string_view piece) { joined += (joined.empty() ? "" : "|") + std::string(piece); });
  return joined;
}

TEST(ByteLevel, CutsByGpt2sExpression) {
  const auto words = MakeByteLevelPreTokenizer(false, true);
  const std::pair<const char*, const char*> cases[] = {
      {"Hello, world!", "Hello|,| world|!"},
      {"I'll don't I'LL 'sup", "I|'ll| don|'t| I|'|LL| '|sup"},
      {"''s it''ll", "''|s| it|''|ll"},
      {"a  b   c", "a| | b|  | c"},
      {"a\n\n b", "a|\n\n| b"},
      {"a\nb", "a|\n|b"},
      {"end  ", "end|  "},
      {"  ", "  "},
      {" 12abc3", " 12|abc|3"},
      {"x\xC2\xA0y", "x|\xC2\xA0|y"},
      {"e\xCC\x81 \xC2\xBD", "e|\xCC\x81| \xC2\xBD"},
      {"", ""},
  };
  for (const auto& [text, pieces] : cases) EXPECT_EQ(Pieces(*words, text), pieces) << text;
}

TEST(ByteLevel, PutsASpaceBeforeAPieceThatHasNone) {
  const auto words = MakeByteLevelPreTokenizer(true, true);
  EXPECT_EQ(Pieces(*words, "hi you"), " hi| you");
  EXPECT_EQ(Pieces(*words, " hi"), " hi");
  EXPECT_EQ(Pieces(*words, "\nhi"), " |\n|hi");
  EXPECT_EQ(Pieces(*words, ""), "");
  EXPECT_EQ(Pieces(*MakeByteLevelPreTokenizer(true, false), "hi, you"), " hi, you");
}

TEST(Digits, AreCutOutOneByOneOrTogether) {
  EXPECT_EQ(Pieces(*MakeDigitsPreTokenizer(true), "a 12b3"), "a |1|2|b|3");
  EXPECT_EQ(Pieces(*MakeDigitsPreTokenizer(false), "a 12b3"), "a |12|b|3");
  EXPECT_EQ(Pieces(*MakeDigitsPreTokenizer(true), "\xC2\xBD\xE2\x85\xABx"), "\xC2\xBD|\xE2\x85\xAB|x");
}

TEST(Sequence, HandsThePiecesOfOneLinkToTheNext) {
  std::vector<std::unique_ptr<PreTokenizer>> links;
  links.push_back(MakeDigitsPreTokenizer(true));
  links.push_back(MakeByteLevelPreTokenizer(true, true));
  EXPECT_EQ(Pieces(*MakeSequencePreTokenizer(std::move(links)), "ab12 c"), " ab| 1| 2| c");
}

}  // namespace
}  // namespace tidemill::data
