#include "data/json_line.h"

#include <gtest/gtest.h>

namespace tidemill::data {
namespace {

constexpr LinePlace kPlace{"f.jsonl", 7};

std::string TextOf(std::string_view line) {
  JsonLine json;
  const Status status = json.Parse(line, kPlace);
  if (!status.has_value()) return "error: " + status.error().message;
  const auto text = json.Text("text", kPlace);
  return text.has_value() ? std::string(*text) : "error: " + text.error().message;
}

TEST(JsonLine, JoinsEscapedPairsAndReplacesLoneHalves) {
  EXPECT_EQ(TextOf(R"({"text":"\ud83d\ude00"})"), "\xF0\x9F\x98\x80");
  EXPECT_EQ(TextOf(R"({"text":"a\ud83d!"})"), "a\xEF\xBF\xBD!");
  EXPECT_EQ(TextOf(R"({"text":"\ude00\ud83d\ud83d\ude00"})"), "\xEF\xBF\xBD\xEF\xBF\xBD\xF0\x9F\x98\x80");
  EXPECT_EQ(TextOf(R"({"text":"\\ud83d \ud83d"})"), "\\ud83d \xEF\xBF\xBD");  // the first is no escape
}

TEST(JsonLine, RepairsRawBytesAndKeepsEscapedNul) {
  EXPECT_EQ(TextOf("{\"text\":\"a\xFF\x62\"}"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(TextOf(R"({"text":"a\u0000b"})"), std::string("a\0b", 3));
}

TEST(JsonLine, NamesFileAndLineOfWhatIsWrong) {
  const std::pair<std::string, std::string> cases[] = {
      {R"({"text":"cut)", "error: no valid JSON, a string does not end (f.jsonl:7): repair or remove the line"},
      {R"({"text":"a"} x)",
       "error: no valid JSON, it is malformed or cut short (f.jsonl:7): repair or remove the line"},
      {R"({"text":"a",)", "error: no valid JSON, it is malformed or cut short (f.jsonl:7): repair or remove the line"},
      {std::string("{\"text\":\"a\0b\"}", 14),
       "error: no valid JSON, a control character stands unescaped in a string (f.jsonl:7): repair or remove the line"},
      {R"({"text":"\q"})",
       "error: no valid JSON, a string has a malformed escape (f.jsonl:7): repair or remove the line"},
      {R"({"txt":"a"})", "error: no key 'text' (f.jsonl:7): every record needs it"},
      {R"({"text":5})", "error: 'text' is no string (f.jsonl:7): write it between quotes"},
      {R"({"text":"a","text":"b"})", "error: key 'text' is there twice (f.jsonl:7): remove one"},
      {R"(["text"])", "error: the line is no JSON object (f.jsonl:7): write {\"key\": ...} a line"},
      {std::string(5000, '[') + std::string(5000, ']'),
       "error: no valid JSON, it is nested too deeply (f.jsonl:7): repair or remove the line"},
  };
  for (const auto& [line, message] : cases) EXPECT_EQ(TextOf(line), message);
}

TEST(JsonLine, ReadsWholeNumbersOnly) {
  JsonLine json;
  std::vector<int32_t> ids{9};
  ASSERT_TRUE(json.Parse(R"({"a":[1,-2,2147483647],"b":[1,2.5],"c":[3000000000],"d":7,"e":[]})", kPlace).has_value());
  EXPECT_TRUE(json.Integers("a", kPlace, ids).has_value());
  EXPECT_EQ(ids, (std::vector<int32_t>{1, -2, 2147483647}));
  EXPECT_EQ(json.Integers("b", kPlace, ids).error().message,
            "item 1 of 'b' is no 32-bit integer (f.jsonl:7): write whole numbers");
  EXPECT_FALSE(json.Integers("c", kPlace, ids).has_value());
  EXPECT_EQ(json.Integers("d", kPlace, ids).error().message, "'d' is no array (f.jsonl:7): write [1, 2, 3]");
  EXPECT_TRUE(json.Integers("e", kPlace, ids).has_value());
  EXPECT_TRUE(ids.empty());
  ASSERT_TRUE(json.Parse("[4, 5]", kPlace).has_value());
  EXPECT_TRUE(json.Integers("", kPlace, ids).has_value());
  EXPECT_EQ(ids, (std::vector<int32_t>{4, 5}));
}

TEST(JsonLine, TakesALineOfFiftyMegabytes) {
  const std::string text(size_t{50} << 20, 'x');
  EXPECT_EQ(TextOf("{\"text\":\"" + text + "\"}").size(), text.size());
}

TEST(JsonLine, ABlankLineHoldsWhiteSpaceOnly) {
  EXPECT_TRUE(IsBlankLine(""));
  EXPECT_TRUE(IsBlankLine(" \t\r"));
  EXPECT_FALSE(IsBlankLine(" 0"));
}

}  // namespace
}  // namespace tidemill::data
