// What JSON lines files look like in the wild.
#include <string>

#include "data/dataset.h"
#include "tests/base/file_fixture.h"
#include "tests/data/tokenizer_fixture.h"

namespace tidemill::data {
namespace {

class JsonlTest : public FileTest {
 protected:
  Result<Dataset> Open(const std::string& contents) {
    const std::vector<std::string> files{Write("d.jsonl", contents)};
    return Dataset::Open(files, tokenizer_.get(), {.vocab_size = 300});
  }

  // The ids of every row, or the error.
  std::string Rows(const std::string& contents) {
    auto dataset = Open(contents);
    if (!dataset.has_value()) return Message(dataset.error());
    std::string rows;
    for (uint64_t i = 0; i < dataset->size(); ++i) {
      const auto sample = dataset->Get(i);
      if (!sample.has_value()) return Message(sample.error());
      for (const int32_t id : sample->ids) rows += std::to_string(id) + " ";
      rows += "/";
    }
    return rows;
  }

  // Without the directory, which differs from run to run.
  std::string Message(const Error& error) const {
    std::string text = error.message;
    const std::string directory = root_.string() + "/";
    for (size_t at; (at = text.find(directory)) != std::string::npos;) text.erase(at, directory.size());
    return text;
  }

  std::unique_ptr<Tokenizer> tokenizer_ = Tiny();
};

TEST_F(JsonlTest, OneCorpusInSixFormsHasTheSameRows) {
  const std::string a = R"({"text":"hi"})";
  const std::string b = R"({"text":"b c"})";
  const std::string expected = "256 /98 32 99 /";
  EXPECT_EQ(Rows(a + "\n" + b + "\n"), expected);
  EXPECT_EQ(Rows(a + "\r\n" + b + "\r\n"), expected);
  EXPECT_EQ(Rows("\xEF\xBB\xBF" + a + "\n" + b + "\n"), expected);
  EXPECT_EQ(Rows("\n\n" + a + "\n  \n\r\n" + b + "\n\n"), expected);
  EXPECT_EQ(Rows(a + "\n" + b), expected);
  EXPECT_EQ(Rows(a + "  \n" + b + " \t\n"), expected);
}

TEST_F(JsonlTest, ATruncatedLastLineIsAnErrorWithItsNumber) {
  EXPECT_EQ(Rows("{\"text\":\"a\"}\n\n{\"text\":\"b"),
            "no valid JSON, a string does not end (d.jsonl:3): repair or remove the line");
  EXPECT_EQ(Rows("{\"input_ids\":[1]}\n{\"input_ids\":[1,2"),
            "no valid JSON, it is malformed or cut short (d.jsonl:2): repair or remove the line");
}

TEST_F(JsonlTest, OddCharactersHaveADefinedResult) {
  EXPECT_EQ(Rows(R"({"text":"\ud83d\ude00"})"), "240 159 152 128 /");
  EXPECT_EQ(Rows(R"({"text":"\ud83d"})"), "239 191 189 /");
  EXPECT_EQ(Rows("{\"text\":\"\xFF\"}"), "239 191 189 /");
  EXPECT_EQ(Rows(R"({"text":"a\u0000"})"), "97 0 /");
  EXPECT_EQ(Rows(std::string("{\"text\":\"a\"}\n{\"text\":\"\0\"}\n", 26)),
            "no valid JSON, a control character stands unescaped in a string (d.jsonl:2): repair or remove the line");
}

TEST_F(JsonlTest, MissingAndDoubleFieldsAreErrorsWithTheLine) {
  EXPECT_EQ(Rows("{\"text\":\"a\"}\n{\"txt\":\"b\"}\n"), "no key 'text' (d.jsonl:2): every record needs it");
  EXPECT_EQ(Rows("{\"text\":\"a\"}\n{\"text\":\"b\",\"text\":\"c\"}\n"),
            "key 'text' is there twice (d.jsonl:2): remove one");
  EXPECT_EQ(Rows("{\"text\":\"a\"}\n[1]\n"), "the line is no JSON object (d.jsonl:2): write {\"key\": ...} a line");
  EXPECT_EQ(Rows("{\"text\":null}\n"), "'text' is no string (d.jsonl:1): write it between quotes");
}

TEST_F(JsonlTest, ALineOfFiftyMegabytesIsARowLikeAnyOther) {
  const std::string line = "{\"text\":\"" + std::string(size_t{50} << 20, 'h') + "\"}";
  auto dataset = Open(line + "\n{\"text\":\"hi\"}\n");
  ASSERT_TRUE(dataset.has_value());
  EXPECT_EQ(dataset->size(), 2u);
  EXPECT_EQ(dataset->LongestRowUpperBound(), 1024u);
  const auto second = dataset->Get(1);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->ids, Ids{256});
}

TEST_F(JsonlTest, AFileWithoutRecordsOrNotThereIsAnError) {
  EXPECT_EQ(Rows(""), "the data holds no record (d.jsonl): name another file");
  EXPECT_EQ(Rows("\n \r\n"), "the data holds no record (d.jsonl): name another file");
  const std::vector<std::string> files{Path("absent.jsonl")};
  const auto absent = Dataset::Open(files, nullptr, {.vocab_size = 300});
  ASSERT_FALSE(absent.has_value());
  EXPECT_EQ(absent.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace tidemill::data
