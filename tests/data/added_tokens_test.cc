// The flags of added tokens, and special strings inside a text. Values checked with the reference.
#include "data/added_tokens.h"

#include "tests/data/tokenizer_fixture.h"

namespace tidemill::data {
namespace {

Ids EncodeWith(const std::string& added, std::string_view text, const EncodeOptions& options = {}) {
  const auto tokenizer = Tiny({.added = "[" + added + "]"});
  return tokenizer == nullptr ? Ids{} : tokenizer->Encode(text, options);
}

TEST(AddedTokens, StandAloneWithoutFlags) {
  EXPECT_EQ(EncodeWith(Added(257, "<|u|>"), "<|u|> hi"), (Ids{257, ' ', 256}));
  EXPECT_EQ(EncodeWith(Added(257, "<|u|>"), "a<|u|>hi"), (Ids{'a', 257, 256}));
  EXPECT_EQ(EncodeWith(Added(257, "<|u|>"), "<|u|"), (Ids{'<', '|', 'u', '|'}));
}

TEST(AddedTokens, SwallowWhiteSpaceOnTheSideTheyStrip) {
  EXPECT_EQ(EncodeWith(Added(257, "<|u|>", R"(,"rstrip":true)"), "<|u|> hi"), (Ids{257, 256}));
  EXPECT_EQ(EncodeWith(Added(257, "<|u|>", R"(,"rstrip":true)"), "a <|u|>\n\t hi"), (Ids{'a', ' ', 257, 256}));
  EXPECT_EQ(EncodeWith(Added(257, "<|u|>", R"(,"lstrip":true)"), "a <|u|>hi"), (Ids{'a', 257, 256}));
  EXPECT_EQ(EncodeWith(Added(257, "<|u|>", R"(,"lstrip":true)"), "a\xE3\x80\x80 <|u|> hi"), (Ids{'a', 257, ' ', 256}));
}

TEST(AddedTokens, SingleWordsDoNotTouchLetters) {
  const std::string added = Added(257, "<|u|>", R"(,"single_word":true)");
  EXPECT_EQ(EncodeWith(added, "<|u|>hi"), (Ids{'<', '|', 'u', '|', '>', 256}));
  EXPECT_EQ(EncodeWith(added, "_<|u|>"), (Ids{'_', '<', '|', 'u', '|', '>'}));
  EXPECT_EQ(EncodeWith(added, "\xC3\xA9<|u|>").size(), 7u);
  EXPECT_EQ(EncodeWith(added, "!<|u|> hi"), (Ids{'!', 257, ' ', 256}));
}

TEST(AddedTokens, TheLongestAtAPlaceWins) {
  const std::string added = Added(257, "<a>") + "," + Added(258, "<a>b") + "," + Added(259, "a>b<a");
  EXPECT_EQ(EncodeWith(added, "<a><a>b<a>b"), (Ids{257, 258, 258}));
  EXPECT_EQ(EncodeWith(added, "a>b<a>"), (Ids{259, '>'}));
}

TEST(AddedTokens, TheNormalizedAreLookedForAfterTheOthers) {
  const std::string added = Added(257, "ab", R"(,"normalized":true)") + "," + Added(258, "bc");
  EXPECT_EQ(EncodeWith(added, "abc ab"), (Ids{'a', 258, ' ', 257}));
}

// A case where the reference itself gives up: what one token has swallowed another cannot swallow again.
TEST(AddedTokens, StrippedSpaceIsUsedOnce) {
  const std::string added = Added(257, "<r>", R"(,"rstrip":true)") + "," + Added(258, "<l>", R"(,"lstrip":true)");
  EXPECT_EQ(EncodeWith(added, "<r>  <l>hi"), (Ids{257, 258, 256}));
  const std::string spaces = Added(257, "<r>", R"(,"rstrip":true)") + "," + Added(258, " ", R"(,"lstrip":true)");
  EXPECT_EQ(EncodeWith(spaces, "<r>   hi"), (Ids{257, 256}));
}

TEST(AddedTokens, SpecialOnesInATextAreParsedUnlessToldOtherwise) {
  const std::string added = Added(257, "</s>") + R"(,{"id":258,"content":"<tool>","special":false})";
  EXPECT_EQ(EncodeWith(added, "hi</s>"), (Ids{256, 257}));
  EXPECT_EQ(EncodeWith(added, "hi</s>", {.parse_special_tokens = false}), (Ids{256, '<', '/', 's', '>'}));
  EXPECT_EQ(EncodeWith(added, "<tool>", {.parse_special_tokens = false}), (Ids{258}));  // not special
  const auto tokenizer = Tiny({.added = "[" + added + "]"});
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->CountSpecialTokens("a</s>b</s><tool>"), 2u);
}

TEST(AddedTokens, OnlySpecialOnesAreSkippedInDecoding) {
  const auto tokenizer =
      Tiny({.added = "[" + Added(257, "</s>") + R"(,{"id":258,"content":"<tool x>","special":false}])"});
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->Decode(Ids{256, 257, 258}, false), "hi</s><tool x>");
  EXPECT_EQ(tokenizer->Decode(Ids{256, 257, 258}, true), "hi<tool x>");
}

TEST(AddedTokens, TouchWhatTheyCoverOrEndAt) {
  AddedTokens tokens;
  tokens.Add({.id = 1, .content = "<s>"});
  const std::string_view text = "ab<s> c";
  EXPECT_FALSE(tokens.Touches(text, 1));
  for (const size_t at : {2u, 3u, 4u, 5u}) EXPECT_TRUE(tokens.Touches(text, at)) << at;
  EXPECT_FALSE(tokens.Touches(text, 6));
}

}  // namespace
}  // namespace tidemill::data
