#include "data/json_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "data/jsonl_file.h"
#include "data/tokenizer.h"

namespace tidemill::data {
namespace {

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(JsonFile, CountsBracketsOnlyOutsideStrings) {
  EXPECT_FALSE(NestedTooDeeply(Repeated("[", kMaxJsonNesting)));
  EXPECT_TRUE(NestedTooDeeply(Repeated("[", kMaxJsonNesting + 1)));
  EXPECT_TRUE(NestedTooDeeply(Repeated("{\"a\":[", kMaxJsonNesting)));
  EXPECT_FALSE(NestedTooDeeply(Repeated("[1],{\"b\":2},", 1000)));
  EXPECT_FALSE(NestedTooDeeply("\"" + Repeated("[", 1000) + "\""));
  EXPECT_FALSE(NestedTooDeeply("\"\\\"" + Repeated("[", 1000) + "\""));
  EXPECT_TRUE(NestedTooDeeply("\"\\\\\"" + Repeated("[", 1000)));
  EXPECT_FALSE(NestedTooDeeply("\"open \\"));
}

TEST(JsonFile, RefusesAPipeInsteadOfWaitingForAWriter) {
  const std::string path = testing::TempDir() + "/json_file_test.pipe";
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(ReadJsonFile(path).error().code, ErrorCode::kInvalidArgument);
  const auto ignore = [](const JsonLine&, const LinePlace&) { return Ok(); };
  EXPECT_EQ(JsonlFile::ReadFirst(path, ignore).error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(JsonlFile::Open(path, ignore).has_value());
  EXPECT_FALSE(Tokenizer::Open(path).has_value());
  std::filesystem::remove(path);
}

TEST(JsonFile, RefusesAnEndlessDevice) {
  EXPECT_FALSE(ReadJsonFile("/dev/zero").has_value());
  EXPECT_FALSE(Tokenizer::Open("/dev/zero").has_value());
}

TEST(JsonFile, NamesTheFileThatIsNestedTooDeeply) {
  const std::string path = testing::TempDir() + "/json_file_test.json";
  std::ofstream(path) << Repeated("[", 100000);
  const auto text = ReadJsonFile(path);
  ASSERT_FALSE(text.has_value());
  EXPECT_NE(text.error().message.find(path), std::string::npos);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tidemill::data
