#include "data/dataset.h"

#include <algorithm>

#include "data/end_token.h"
#include "tests/base/file_fixture.h"
#include "tests/data/tokenizer_fixture.h"

namespace tidemill::data {
namespace {

// "hi" is 256, <s> 257, </s> 258; the template puts <s> before a text.
class DatasetTest : public FileTest {
 protected:
  Result<Dataset> Open(const std::string& name, const std::string& contents, DatasetOptions options) {
    files_.assign(1, Write(name, contents));
    return Dataset::Open(files_, tokenizer_.get(), options);
  }

  std::string ErrorOf(const std::string& name, const std::string& contents,
                      DatasetOptions options = {.vocab_size = 300}) {
    const auto dataset = Open(name, contents, options);
    if (dataset.has_value()) return "no error";
    EXPECT_EQ(dataset.error().code, ErrorCode::kInvalidArgument);
    std::string text = dataset.error().message;
    const std::string directory = root_.string() + "/";
    for (size_t at; (at = text.find(directory)) != std::string::npos;) text.erase(at, directory.size());
    return text;
  }

  Ids TextRow(const std::string& text, DatasetOptions options) {
    auto dataset = Open("d.jsonl", "{\"text\":\"" + text + "\"}\n", options);
    if (!dataset.has_value()) return {};
    const auto sample = dataset->Get(0);
    if (!sample.has_value()) return {};
    EXPECT_EQ(sample->ids, sample->labels);
    EXPECT_LE(sample->ids.size(), dataset->LongestRowUpperBound());
    return sample->ids;
  }

  std::unique_ptr<Tokenizer> tokenizer_ =
      Tiny({.added = "[" + Added(257, "<s>") + "," + Added(258, "</s>") + "]", .post_processor = Template(257)});
  std::vector<std::string> files_;
};

TEST_F(DatasetTest, TakesIdsAndLabelsAsTheyAre) {
  auto dataset = Open("d.jsonl", "{\"input_ids\":[5,6,7],\"labels\":[-100,6,7],\"extra\":{}}\n{\"input_ids\":[8,9]}\n",
                      {.vocab_size = 10});
  ASSERT_TRUE(dataset.has_value()) << dataset.error().message;
  ASSERT_EQ(dataset->size(), 2u);
  const auto second = dataset->Get(1);  // in any order
  const auto first = dataset->Get(0);
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(first->ids, (Ids{5, 6, 7}));
  EXPECT_EQ(first->labels, (Ids{-100, 6, 7}));
  EXPECT_EQ(second->labels, (Ids{8, 9}));
  EXPECT_EQ(dataset->LongestRowUpperBound(), 3u);
}

// A prompt of 3, an answer of 2 and the end token.
TEST_F(DatasetTest, SupervisesTheAnswerAndItsEndAndNothingElse) {
  const std::string record = "{\"input_ids\":[1,2,3,4,5,258],\"labels\":[-100,-100,-100,4,5,258]}\n";
  for (const auto& [max_length, supervised] : {std::pair{6, 3}, {1000, 3}, {5, 2}, {3, 0}}) {
    auto dataset = Open("d.jsonl", record, {.max_length = static_cast<size_t>(max_length), .vocab_size = 300});
    ASSERT_TRUE(dataset.has_value());
    const auto sample = dataset->Get(0);
    ASSERT_TRUE(sample.has_value());
    EXPECT_EQ(std::count_if(sample->labels.begin(), sample->labels.end(), [](int32_t l) { return l != kIgnoredLabel; }),
              supervised)
        << max_length;
    EXPECT_EQ(sample->ids.size(), static_cast<size_t>(std::min(max_length, 6)));
  }
}

// At the level of a row: one end token each, and it is a label. And none where the row was cut.
TEST_F(DatasetTest, EndsATextOnceAndACutTextNever) {
  const DatasetOptions with_end{.vocab_size = 300, .append_eos = 258};
  EXPECT_EQ(TextRow("abc", with_end), (Ids{257, 'a', 'b', 'c', 258}));
  EXPECT_EQ(TextRow("abc</s>", with_end), (Ids{257, 'a', 'b', 'c', 258}));
  EXPECT_EQ(TextRow("", with_end), (Ids{257, 258}));
  EXPECT_EQ(TextRow("abc", {.vocab_size = 300}), (Ids{257, 'a', 'b', 'c'}));
  EXPECT_EQ(TextRow("abc", {.max_length = 4, .vocab_size = 300, .append_eos = 258}), (Ids{257, 'a', 'b', 'c'}));
  EXPECT_EQ(TextRow("abc", {.max_length = 5, .vocab_size = 300, .append_eos = 258}).back(), 258);
}

TEST_F(DatasetTest, ATextThatBeginsWithTheBosGetsNoSecondOne) {
  EXPECT_EQ(TextRow("<s>hi", {.vocab_size = 300}), (Ids{257, 256}));
  EXPECT_EQ(TextRow("hi", {.vocab_size = 300}), (Ids{257, 256}));
  EXPECT_EQ(TextRow("<s>", {.vocab_size = 300}), (Ids{257}));
  EXPECT_EQ(TextRow("<s><s>hi", {.vocab_size = 300}), (Ids{257, 257, 256}));  // the second is the text's own
  tokenizer_ =
      Tiny({.added = "[" + Added(257, "<s>") + "," + Added(258, "</s>") + "]", .post_processor = Template(257, 258)});
  EXPECT_EQ(TextRow("<s>hi</s>", {.vocab_size = 300, .append_eos = 258}), (Ids{257, 256, 258}));
  EXPECT_EQ(TextRow("", {.vocab_size = 300}), (Ids{257, 258}));
}

// The policy for special strings in a corpus, its switch, and the count.
TEST_F(DatasetTest, ParsesSpecialStringsOrSpellsThemOutAndCountsThem) {
  EXPECT_EQ(TextRow("a</s>b", {.vocab_size = 300}), (Ids{257, 'a', 258, 'b'}));
  EXPECT_EQ(TextRow("a</s>", {.vocab_size = 300, .parse_special_tokens = false}), (Ids{257, 'a', '<', '/', 's', '>'}));
  auto dataset = Open("d.jsonl", "{\"text\":\"a</s>b<s>\"}\n{\"text\":\"none\"}\n", {.vocab_size = 300});
  ASSERT_TRUE(dataset.has_value());
  EXPECT_EQ(dataset->SpecialTokensInTexts(), 2u);
}

TEST_F(DatasetTest, RefusesIdsThatTheModelDoesNotHave) {
  EXPECT_EQ(ErrorOf("d.jsonl", "{\"input_ids\":[1]}\n{\"input_ids\":[0,300]}\n"),
            "input_ids[1] of sample 1 is 300 (d.jsonl:2): the model has ids 0 to 299");
  EXPECT_EQ(ErrorOf("d.jsonl", "{\"input_ids\":[-1]}\n"),
            "input_ids[0] of sample 0 is -1 (d.jsonl:1): the model has ids 0 to 299");
  EXPECT_EQ(ErrorOf("d.jsonl", "{\"input_ids\":[1,2],\"labels\":[-100,-1]}\n"),
            "labels[1] of sample 0 is -1 (d.jsonl:1): the model has ids 0 to 299");
  EXPECT_EQ(ErrorOf("d.jsonl", "{\"text\":\"fine\"}\n{\"text\":\"a text of some length</s>\"}\n", {.vocab_size = 258}),
            "sample 1 holds '</s>', token 258 (d.jsonl:2): the model has ids 0 to 257");
  EXPECT_EQ(ErrorOf("d.txt", "a</s>", {.vocab_size = 258}),
            "the text holds '</s>', token 258 (d.txt): the model has ids 0 to 257");
  // More rows than ids are padding, and fewer do no harm while no text needs them.
  EXPECT_EQ(ErrorOf("d.jsonl", "{\"text\":\"fine\"}\n", {.vocab_size = 9999}), "no error");
  EXPECT_EQ(ErrorOf("d.jsonl", "{\"text\":\"fine\"}\n", {.vocab_size = 258}), "no error");
}

TEST_F(DatasetTest, RefusesBrokenRowsWhenItIsOpened) {
  EXPECT_EQ(
      ErrorOf("d.jsonl", "{\"input_ids\":[1,2],\"labels\":[1]}\n"),
      "sample 0 has 2 input_ids and 1 labels (d.jsonl:1): give each token a label, -100 where none is to be learned");
  EXPECT_EQ(ErrorOf("d.jsonl", "{\"input_ids\":[1]}\n{\"input_ids\":[]}\n"),
            "sample 1 has no token (d.jsonl:2): remove the line");
  EXPECT_EQ(ErrorOf("d.jsonl", "{\"input_ids\":[1]}\n{\"input_ids\":[1.5]}\n"),
            "item 0 of 'input_ids' is no 32-bit integer (d.jsonl:2): write whole numbers");
  EXPECT_EQ(ErrorOf("d.txt", ""), "the text has no token (d.txt): name another file");
  tokenizer_ = Tiny();
  EXPECT_EQ(ErrorOf("d.jsonl", "{\"text\":\"\"}\n"), "the text of sample 0 has no token (d.jsonl:1): remove the line");
}

TEST_F(DatasetTest, CutsAPlainTextIntoRowsAndKeepsTheShortLast) {
  auto dataset = Open("d.txt",
                      "\xEF\xBB\xBF"
                      "abcdefg\r\nx",
                      {.max_length = 4, .vocab_size = 300, .append_eos = 258});
  ASSERT_TRUE(dataset.has_value()) << dataset.error().message;
  const Ids all{257, 'a', 'b', 'c', 'd', 'e', 'f', 'g', '\r', '\n', 'x'};
  ASSERT_EQ(dataset->size(), 3u);
  EXPECT_EQ(dataset->LongestRowUpperBound(), 4u);
  for (const size_t row : {2u, 0u, 1u}) {
    const auto sample = dataset->Get(row);
    ASSERT_TRUE(sample.has_value());
    EXPECT_EQ(sample->ids, Ids(all.begin() + static_cast<long>(row * 4),
                               all.begin() + static_cast<long>(std::min(all.size(), row * 4 + 4))));
    EXPECT_EQ(sample->labels, sample->ids);
  }
}

TEST_F(DatasetTest, APlainTextOfManyPartsEqualsItsWholeEncoding) {
  std::string text;
  while (text.size() < 700'000) text += "some words, hi </s> and " + std::to_string(text.size()) + " more\n";
  auto dataset = Open("d.txt", text, {.max_length = 1000, .vocab_size = 300});
  ASSERT_TRUE(dataset.has_value());
  Ids joined;
  for (uint64_t i = 0; i < dataset->size(); ++i) {
    const auto sample = dataset->Get(i);
    ASSERT_TRUE(sample.has_value());
    joined.insert(joined.end(), sample->ids.begin(), sample->ids.end());
  }
  EXPECT_TRUE(joined == tokenizer_->Encode(text));
}

TEST_F(DatasetTest, JoinsFilesOfSeveralFormatsInOrder) {
  files_ = {Write("a.jsonl", "{\"input_ids\":[1]}\n{\"input_ids\":[2]}\n"), Write("b.txt", "xyz"),
            Write("c.jsonl", "{\"text\":\"hi\"}\n")};
  auto dataset = Dataset::Open(files_, tokenizer_.get(), {.max_length = 2, .vocab_size = 300});
  ASSERT_TRUE(dataset.has_value());
  const std::vector<Ids> expected = {{1}, {2}, {257, 'x'}, {'y', 'z'}, {257, 256}};
  ASSERT_EQ(dataset->size(), expected.size());
  for (uint64_t i = 0; i < expected.size(); ++i) EXPECT_EQ(dataset->Get(i)->ids, expected[i]) << i;
}

TEST_F(DatasetTest, RefusesFormatsThatAreNotBuiltByName) {
  const std::pair<const char*, const char*> records[] = {
      {R"({"messages":[]})", "messages"},
      {R"({"prompt":"a","completion":"b"})", "prompt-completion"},
      {R"({"instruction":"a","input":"","output":"b"})", "alpaca"},
      {R"({"conversations":[]})", "sharegpt"},
  };
  const std::string advice = "): use {\"text\"} or {\"input_ids\"} records, or .txt";
  for (const auto& [record, name] : records) {
    EXPECT_EQ(ErrorOf("d.jsonl", std::string("\n") + record + "\n"),
              "dataset format '" + std::string(name) + "' is not available in this build (d.jsonl:2" + advice);
  }
  EXPECT_EQ(ErrorOf("d.bin", "x"), "dataset format 'bin' is not available in this build (d.bin" + advice);
  EXPECT_EQ(ErrorOf("d.jsonl", "{\"text\":\"a\"}\n", {.vocab_size = 300, .format = "prompt_completion"}),
            "dataset format 'prompt-completion' is not available in this build (d.jsonl" + advice);
  EXPECT_EQ(
      ErrorOf("d.jsonl", "{\"txet\":1,\"b\":2}\n"),
      "no dataset format has the keys txet, b (d.jsonl:1): write {\"text\": ...} or {\"input_ids\": [...]} a line");
  EXPECT_EQ(ErrorOf("d.jsonl", "x", {.vocab_size = 300, .format = "parquet"}),
            "unknown dataset format 'parquet' (--dataset-format): one of auto, tokens, text, txt");
}

TEST_F(DatasetTest, TheFormatCanBeNamedAndTextNeedsATokenizer) {
  auto dataset = Open("d.log", "{\"text\":1}", {.vocab_size = 300, .format = "txt"});
  ASSERT_TRUE(dataset.has_value());
  EXPECT_EQ(dataset->size(), 1u);
  tokenizer_.reset();
  EXPECT_EQ(ErrorOf("d.txt", "x"), "text needs a tokenizer (d.txt): put tokenizer.json into the model's folder");
}

TEST_F(DatasetTest, FindsTheEndTokenInTheModelsFolder) {
  const std::string folder = root_.string();
  EXPECT_EQ(FindEndToken(folder, *tokenizer_).value(), std::nullopt);
  Write("config.json", R"({"eos_token_id":7})");
  EXPECT_EQ(FindEndToken(folder, *tokenizer_).value(), 7);
  Write("generation_config.json", R"({"eos_token_id":[5,7]})");
  EXPECT_EQ(FindEndToken(folder, *tokenizer_).value(), 5);
  Write("tokenizer_config.json", R"({"eos_token":null})");
  EXPECT_EQ(FindEndToken(folder, *tokenizer_).value(), 5);
  Write("tokenizer_config.json", R"({"eos_token":{"content":"</s>"}})");
  EXPECT_EQ(FindEndToken(folder, *tokenizer_).value(), 258);
  Write("tokenizer_config.json", R"({"eos_token":"<nothing>"})");
  EXPECT_FALSE(FindEndToken(folder, *tokenizer_).has_value());
}

}  // namespace
}  // namespace tidemill::data
