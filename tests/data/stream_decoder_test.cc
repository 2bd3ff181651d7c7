// What a stream of ids prints is valid UTF-8 at every moment, and the same in the end.
#include "data/stream_decoder.h"

#include <random>

#include "data/stream_encoder.h"
#include "data/utf8.h"
#include "tests/data/tokenizer_fixture.h"

namespace tidemill::data {
namespace {

TEST(StreamDecoder, HoldsACharacterBackUntilItIsWhole) {
  const auto tokenizer = Tiny();
  ASSERT_NE(tokenizer, nullptr);
  StreamDecoder decoder(*tokenizer, false);
  EXPECT_EQ(decoder.Push(256), "hi");
  for (const int32_t byte : {0xF0, 0x9F, 0x91}) EXPECT_EQ(decoder.Push(byte), "");
  EXPECT_EQ(decoder.Push(0x8D), "\xF0\x9F\x91\x8D");
  EXPECT_EQ(decoder.Push('!'), "!");
  EXPECT_EQ(decoder.Flush(), "");
}

TEST(StreamDecoder, EndsACharacterThatNeverCameWithOneMark) {
  const auto tokenizer = Tiny();
  ASSERT_NE(tokenizer, nullptr);
  StreamDecoder decoder(*tokenizer, false);
  EXPECT_EQ(decoder.Push(0xF0), "");
  EXPECT_EQ(decoder.Push(0x9F), "");
  EXPECT_EQ(decoder.Flush(), kReplacementCharacter);
  EXPECT_EQ(decoder.Flush(), "");
  EXPECT_EQ(decoder.Push(0xF0), "");
  EXPECT_EQ(decoder.Push('x'), std::string(kReplacementCharacter) + "x");
}

TEST(StreamDecoder, EqualsTheWholeDecodingOfAnyIds) {
  const auto tokenizer = Tiny({.added = "[" + Added(257, "</s>") + "]"});
  ASSERT_NE(tokenizer, nullptr);
  std::mt19937 random(11);
  const Ids interesting = {0xF0, 0x9F, 0x91, 0x8D, 0xE2, 0x82, 0xAC, 0xC3, 0xA9,
                           0xED, 0xA0, 0xFF, 'a',  256,  257,  -1,   999};
  for (int round = 0; round < 500; ++round) {
    Ids ids;
    for (int i = 0; i < 12; ++i) ids.push_back(interesting[random() % interesting.size()]);
    const bool skip = round % 2 == 0;
    StreamDecoder decoder(*tokenizer, skip);
    std::string streamed;
    for (const int32_t id : ids) {
      const std::string part = decoder.Push(id);
      EXPECT_TRUE(IsUtf8(part));
      streamed += part;
    }
    EXPECT_EQ(streamed + decoder.Flush(), tokenizer->Decode(ids, skip));
  }
}

// Words, white space, added tokens with every flag and cut characters, in any order.
std::string RandomText(std::mt19937& random, int parts) {
  const char* const pieces[] = {"word",    " hi", "  ",    "\n",   "\t",           "<r>",  "<l>",  "<w>",
                                " sp ace", "'ll", "don't", "12 3", "\xE3\x80\x80", "\xC3", "\xA9", "\xF0\x9F\x91\x8D",
                                "_",       "sp"};
  std::string text;
  for (int i = 0; i < parts; ++i) text += pieces[random() % std::size(pieces)];
  return text;
}

TEST(StreamEncoder, EqualsTheWholeEncodingHoweverTheTextIsCut) {
  const std::string added = "[" + Added(257, "<r>", R"(,"rstrip":true)") + "," +
                            Added(258, "<l>", R"(,"lstrip":true)") + "," + Added(259, "<w>", R"(,"single_word":true)") +
                            "," + Added(260, " sp ", R"(,"single_word":true)") + "]";
  const std::string with_prefix = R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true})";
  const std::string whole_pieces = R"({"type":"ByteLevel","add_prefix_space":false,"use_regex":false})";
  std::mt19937 random(3);
  for (const std::string& pre_tokenizer : {TinySpec{}.pre_tokenizer, with_prefix, whole_pieces}) {
    const auto tokenizer = Tiny({.added = added, .pre_tokenizer = pre_tokenizer, .post_processor = Template(1, 2)});
    ASSERT_NE(tokenizer, nullptr);
    for (int round = 0; round < 3; ++round) {
      const std::string text = RandomText(random, 60'000);  // several times what the encoder holds
      StreamEncoder encoder(*tokenizer, {});
      Ids streamed;
      for (size_t at = 0; at < text.size();) {
        const size_t bytes = 1 + random() % 9'000;
        encoder.Feed(std::string_view(text).substr(at, bytes), streamed);
        at += bytes;
      }
      encoder.Finish(streamed);
      EXPECT_TRUE(streamed == tokenizer->Encode(text)) << pre_tokenizer << round;
    }
  }
}

TEST(StreamEncoder, CutsEverywhereThatItMaySafely) {
  const auto tokenizer = Tiny({.added = "[" + Added(257, "<r>", R"(,"rstrip":true)") + "," + Added(258, "q z") + "]"});
  ASSERT_NE(tokenizer, nullptr);
  std::mt19937 random(4);
  size_t cuts = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::string text = RepairUtf8(RandomText(random, 12)) + "q z<r> q z";
    const size_t cut_bytes = tokenizer->SafeCutBytes(text);
    if (cut_bytes == 0) continue;
    ++cuts;
    Ids halves = tokenizer->Encode(text.substr(0, cut_bytes));
    const Ids rest = tokenizer->Encode(text.substr(cut_bytes));
    halves.insert(halves.end(), rest.begin(), rest.end());
    EXPECT_EQ(halves, tokenizer->Encode(text)) << text << cut_bytes;
  }
  EXPECT_GT(cuts, 1000u);
}

}  // namespace
}  // namespace tidemill::data
