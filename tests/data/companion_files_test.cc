#include "data/companion_files.h"

#include <string>
#include <vector>

#include "tests/base/file_fixture.h"

namespace tidemill::data {
namespace {

using CompanionFilesTest = FileTest;

TEST_F(CompanionFilesTest, CopiesWhatBelongsToTheModelUnchanged) {
  const std::vector<std::string> companions{
      "added_tokens.json",       "chat_template.jinja", "config.json",
      "generation_config.json",  "merges.txt",          "preprocessor_config.json",
      "special_tokens_map.json", "tokenizer.json",      "tokenizer.model",
      "tokenizer_config.json",   "vocab.json"};
  for (const auto& name : companions) Write("in/" + name, "\xff contents of " + name + std::string(300'000, '.'));
  for (const char* other :
       {"model.safetensors", "golden.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "x.gguf",
        ".gitattributes", "metrics.jsonl", "trainer_state.json", "config.json.partial"})
    Write(std::string("in/") + other, "not a companion");
  Write("in/checkpoint-3/config.json", "not of this folder");
  ASSERT_TRUE(CopyCompanionFiles(Path("in"), Path("out"), std::nullopt).has_value());
  EXPECT_EQ(CompanionFiles(Path("out")).value(), companions);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(Path("out")), {}), 11);
  for (const auto& name : companions) EXPECT_EQ(Read("out/" + name), Read("in/" + name)) << name;
}

TEST_F(CompanionFilesTest, FollowsLinksAndPassesByFilesBeyondTheLimit) {
  Write("blobs/1234", "{}");
  Write("in/huge.json", "");
  std::filesystem::resize_file(Path("in/huge.json"), (64U << 20) + 1);
  std::filesystem::create_symlink("../blobs/1234", Path("in/tokenizer.json"));
  std::filesystem::create_symlink("../blobs/none", Path("in/vocab.json"));
  ASSERT_TRUE(CopyCompanionFiles(Path("in"), Path("out"), std::nullopt).has_value());
  EXPECT_EQ(Listing("out"), "tokenizer.json");
  EXPECT_FALSE(std::filesystem::is_symlink(Path("out/tokenizer.json")));
  EXPECT_EQ(Read("out/tokenizer.json"), "{}");
}

// The key that came in says what the weights are.
TEST_F(CompanionFilesTest, RewritesTheDtypeKeyThatCameInAndNothingElse) {
  const std::string front = "{\n \"zeta\": 1e-05, \"nested\": {\"torch_dtype\": \"float16\"},\n \"",
                    back = ",\n \"alpha\":[ ]}\n";
  for (const char* key : {"torch_dtype", "dtype"}) {
    for (const char* value : {"\"float32\"", "\"torch.float16\"", "null", "\"a\\\"b\""}) {
      const auto config = [&](const std::string& dtype) { return front + key + "\" : " + dtype + back; };
      EXPECT_EQ(ConfigWithDType(config(value), DType::kBf16).value(), config("\"bfloat16\"")) << key << value;
    }
  }
}

TEST_F(CompanionFilesTest, LeavesAConfigurationThatIsRightAlready) {
  for (const char* config : {R"({"a":1})", R"({"dtype":"float16"})", R"({"torch_dtype":"torch.float16","b":[1,2]})",
                             R"({"dtype":{"text":"float32"}})"})
    EXPECT_EQ(ConfigWithDType(config, DType::kF16).value(), config);
  EXPECT_EQ(ConfigWithDType(R"({"dtype":"x","torch_dtype":"y"})", DType::kF32).value(),
            R"({"dtype":"float32","torch_dtype":"float32"})");
  EXPECT_FALSE(ConfigWithDType(R"({"dtype":"float16",})", DType::kF16).has_value());
}

TEST_F(CompanionFilesTest, CopyingInPlaceChangesOnlyTheConfiguration) {
  Write("m/config.json", R"({"torch_dtype": "float32"})");
  Write("m/tokenizer.json", "{}");
  ASSERT_TRUE(CopyCompanionFiles(Path("m"), Path("m"), DType::kBf16).has_value());
  EXPECT_EQ(Read("m/config.json"), R"({"torch_dtype": "bfloat16"})");
  EXPECT_EQ(Read("m/tokenizer.json"), "{}");
}

TEST_F(CompanionFilesTest, NamesADirectoryThatIsNotThere) {
  const Status status = CopyCompanionFiles(Path("absent"), Path("out"), std::nullopt);
  ASSERT_FALSE(status.has_value());
  EXPECT_NE(status.error().message.find(Path("absent")), std::string::npos);
}

}  // namespace
}  // namespace tidemill::data
