#include "data/tokenizer.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/data/tokenizer_fixture.h"

namespace tidemill::data {
namespace {

using nlohmann::json;

std::string GoldenPath(const std::string& file) { return TIDEMILL_SOURCE_DIR "/tests/golden/tokenizers/" + file; }

json ReadJson(const std::string& path) {
  std::ifstream file(path);
  return json::parse(file);
}

class TokenizerGolden : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Kinds, TokenizerGolden, testing::Values("gpt2_like", "smollm2_like"));

TEST_P(TokenizerGolden, GivesTheReferencesIdsAndTexts) {
  const std::string folder = GoldenPath(GetParam());
  const auto tokenizer = Tokenizer::Open(folder + "/tokenizer.json");
  ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().message;
  const json cases = ReadJson(folder + "/golden.json");
  ASSERT_GT(cases.size(), 60u);
  for (const json& golden : cases) {
    const std::string text = golden["text"];
    const Ids ids = golden["ids"];
    const Ids plain = golden["ids_no_special"];
    EXPECT_EQ((*tokenizer)->Encode(text), ids) << text;
    EXPECT_EQ((*tokenizer)->Encode(text, {.add_special_tokens = false}), plain) << text;
    EXPECT_EQ((*tokenizer)->Decode(plain, false), golden["decode"].get<std::string>());
    EXPECT_EQ((*tokenizer)->Decode(ids, true), golden["decode_skip"].get<std::string>());
  }
}

TEST(Tokenizer, TakesMergesAsTextAndAsPairsAlike) {
  json file = ReadJson(GoldenPath("gpt2_like/tokenizer.json"));
  const auto as_text = Tokenizer::Parse(file.dump(), "text");
  for (json& merge : file["model"]["merges"]) {
    const std::string pair = merge;
    merge = {pair.substr(0, pair.find(' ')), pair.substr(pair.find(' ') + 1)};
  }
  const auto as_pairs = Tokenizer::Parse(file.dump(), "pairs");
  ASSERT_TRUE(as_text.has_value() && as_pairs.has_value());
  const json texts = ReadJson(GoldenPath("texts.json"));
  for (size_t i = 0; i < 200; ++i) {  // 200 lines, each of three texts
    std::string line;
    for (const size_t k : {i, i * 7 + 1, i * 13 + 5}) line += texts[k % texts.size()].get<std::string>();
    EXPECT_EQ((*as_text)->Encode(line), (*as_pairs)->Encode(line)) << line;
  }
}

TEST(Tokenizer, MergesAPairWhoseTokenHoldsASpace) {
  // A byte-level text cannot spell it, so the token is only reached by its neighbours' merge; the file is still good.
  const auto tokenizer = Tiny({.more_vocab = R"(,"a b":257,"a bhi":258)", .merges = R"([["h","i"],["a b","hi"]])"});
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->Encode("a bhi"), (Ids{'a', ' ', 'b', 256}));
  EXPECT_EQ(tokenizer->Decode(Ids{258}, false), "a bhi");
}

TEST(Tokenizer, NamesTheMergeAndTheTokenThatAreMissing) {
  const auto bad = Tokenizer::Parse(TinyJson({.merges = R"(["h i","hi zz"])"}), "t.json");
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().message,
            "merge 1, 'hi' + 'zz', needs token 'zz', which is not in the vocab (t.json): repair the file");
  const auto result = Tokenizer::Parse(TinyJson({.merges = R"([["h","i"],["hi","h"]])"}), "t.json");
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message.find("needs token 'hih'"), std::string::npos) << result.error().message;
}

// The merge loop must not be quadratic. No clock here: a quadratic one would run into the timeout.
TEST(Tokenizer, EncodesAMillionTimesTheSameLetter) {
  const auto tokenizer =
      Tiny({.more_vocab = R"(,"aa":257,"aaaa":258,"aaaaaaaa":259)", .merges = R"(["a a","aa aa","aaaa aaaa"])"});
  ASSERT_NE(tokenizer, nullptr);
  const Ids ids = tokenizer->Encode(std::string(1'000'001, 'a'));
  ASSERT_EQ(ids.size(), 125'001u);
  EXPECT_EQ(ids.front(), 259);
  EXPECT_EQ(ids.back(), 'a');
}

TEST(Tokenizer, ReplacesEachBadPartOfTheTextOnce) {
  const auto tokenizer = Tiny();
  ASSERT_NE(tokenizer, nullptr);
  const Ids bad{0xEF, 0xBF, 0xBD};
  EXPECT_EQ(tokenizer->Encode("\xE2\x82"), bad);
  EXPECT_EQ(tokenizer->Encode("\xFF"), bad);
  EXPECT_EQ(tokenizer->Decode(Ids{'x', 0xE2, 0x82, 'y'}, false), "x\xEF\xBF\xBDy");
}

TEST(Tokenizer, AnyNumberOfThreadsMayEncodeAtOnce) {
  const auto tokenizer = Tokenizer::Open(GoldenPath("smollm2_like/tokenizer.json"));
  ASSERT_TRUE(tokenizer.has_value());
  const std::string text = "several threads, one tokenizer: 12 words and 34 more";
  const Ids expected = (*tokenizer)->Encode(text);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int& count : wrong) {
    threads.emplace_back([&, &count = count] {
      for (int i = 0; i < 50; ++i) count += (*tokenizer)->Encode(text) != expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(Tokenizer, PutsTheTemplatesIdsAround) {
  const auto tokenizer =
      Tiny({.added = "[" + Added(257, "<s>") + "," + Added(258, "</s>") + "]",
            .post_processor = R"({"type":"Sequence","processors":[{"type":"ByteLevel"},)" + Template(257, 258) + "]}"});
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->Encode("hi"), (Ids{257, 256, 258}));
  EXPECT_EQ(tokenizer->Encode(""), (Ids{257, 258}));
  EXPECT_EQ(tokenizer->Encode("hi", {.add_special_tokens = false}), (Ids{256}));
  EXPECT_EQ(tokenizer->Encode("<s>hi"), (Ids{257, 257, 256, 258}));  // as the reference; Dataset keeps one
}

TEST(Tokenizer, KnowsItsIdsAndTheirBytes) {
  const auto tokenizer = Tiny({.added = "[" + Added(257, "<|u|>") + "]"});
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->vocab_size(), 258u);
  EXPECT_EQ(tokenizer->max_id(), 257);
  EXPECT_EQ(tokenizer->IdOf("<|u|>"), 257);
  EXPECT_EQ(tokenizer->IdOf("nothing"), std::nullopt);
  EXPECT_TRUE(tokenizer->IsSpecial(257));
  EXPECT_FALSE(tokenizer->IsSpecial(256) || tokenizer->IsSpecial(-1) || tokenizer->IsSpecial(258));
  EXPECT_EQ(tokenizer->TokenBytes(0xF0), "\xF0");
  EXPECT_EQ(tokenizer->Decode(Ids{-1, 258, 256, 1 << 30}, false), "hi");
}

}  // namespace
}  // namespace tidemill::data
