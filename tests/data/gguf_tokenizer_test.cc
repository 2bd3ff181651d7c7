#include "data/gguf_tokenizer.h"

#include <string>

#include "tests/data/gguf_tiny.h"

namespace tidemill::data {
namespace {

constexpr const char* kByteLevelTokenizer = R"({
  "version": "1.0",
  "truncation": null,
  "padding": null,
  "added_tokens": [
    {
      "id": 0,
      "content": "<s>",
      "single_word": false,
      "lstrip": false,
      "rstrip": false,
      "normalized": false,
      "special": true
    },
    {
      "id": 4,
      "content": ")"
                                            "\u0120"
                                            R"(\"",
      "single_word": false,
      "lstrip": false,
      "rstrip": false,
      "normalized": false,
      "special": false
    }
  ],
  "normalizer": null,
  "pre_tokenizer": {
    "type": "ByteLevel",
    "add_prefix_space": false,
    "trim_offsets": true,
    "use_regex": true
  },
  "post_processor": null,
  "decoder": {
    "type": "ByteLevel",
    "add_prefix_space": true,
    "trim_offsets": true,
    "use_regex": true
  },
  "model": {
    "type": "BPE",
    "dropout": null,
    "unk_token": null,
    "continuing_subword_prefix": null,
    "end_of_word_suffix": null,
    "fuse_unk": false,
    "byte_fallback": false,
    "ignore_merges": false,
    "vocab": {
      "<s>": 0,
      "a": 1,
      "b": 2,
      "ab": 3,
      ")"
                                            "\u0120"
                                            R"(\"": 4
    },
    "merges": [
      "a b"
    ]
  }
}
)";

class GgufTokenizerTest : public TinyGgufTest {
 protected:
  TokenizerFiles Files(const Tiny& tiny) const {
    const GgufReader reader = GgufReader::Open(Write("m.gguf", tiny.Build())).value();
    const GgufModel model = ReadGgufModel(reader).value();
    return ReadGgufTokenizer(reader.metadata(), model).value().value();
  }
  static Tiny WithRule(const std::string& rule) {
    Tiny tiny;
    tiny.more = [rule](GgufBuilder& file) { file.Text("tokenizer.ggml.pre", rule); };
    return tiny;
  }
};

TEST_F(GgufTokenizerTest, WritesAByteLevelTokenizer) {
  EXPECT_EQ(Files(WithRule("gpt-2")).tokenizer_json, kByteLevelTokenizer);
}

TEST_F(GgufTokenizerTest, ChoosesTheSplittingRuleByName) {
  const std::string gpt2 = Files(WithRule("gpt-2")).tokenizer_json;
  EXPECT_EQ(Files({}).tokenizer_json, gpt2);
  EXPECT_EQ(Files(WithRule("default")).tokenizer_json, gpt2);
  const std::string smollm = Files(WithRule("smollm")).tokenizer_json;
  EXPECT_TRUE(Contains(smollm, "\"type\": \"Digits\",\n        \"individual_digits\": true")) << smollm;
  const std::string llama = Files(WithRule("llama-bpe")).tokenizer_json;
  EXPECT_TRUE(Contains(llama, R"(\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+)")) << llama;
  EXPECT_TRUE(Contains(llama, "\"ignore_merges\": true"));
  EXPECT_TRUE(Contains(llama, "\"use_regex\": false"));
  const std::string qwen = Files(WithRule("qwen2")).tokenizer_json;
  EXPECT_TRUE(Contains(qwen, R"(\\p{N}| ?[^\\s\\p{L}\\p{N}]+)")) << qwen;
  EXPECT_TRUE(Contains(qwen, "\"type\": \"NFC\""));
  EXPECT_TRUE(
      Contains(Refusal(WithRule("deepseek-llm")), "pre-tokenizer 'deepseek-llm' (tokenizer.ggml.pre) is not known"));
}

TEST_F(GgufTokenizerTest, PutsBosAndEosAroundATextWhereTheFileSaysSo) {
  const auto processor = [&](bool bos, bool eos) {
    Tiny tiny;
    tiny.more = [=](GgufBuilder& file) {
      file.Bool("tokenizer.ggml.add_bos_token", bos).Bool("tokenizer.ggml.add_eos_token", eos);
    };
    const std::string json = Files(tiny).tokenizer_json;
    const size_t begin = json.find("\"post_processor\": ") + 18;
    return json.substr(begin, json.find("\n  \"decoder\"") - begin - 1);
  };
  EXPECT_EQ(processor(false, false), "null");
  const std::string special =
      "        \"SpecialToken\": {\n          \"id\": \"<s>\",\n          \"type_id\": 0\n        }\n";
  const std::string text = "        \"Sequence\": {\n          \"id\": \"A\",\n          \"type_id\": 0\n        }\n";
  const std::string open = "      {\n", next = "      },\n      {\n", close = "      }\n    ],\n    \"pair\"";
  EXPECT_TRUE(Contains(processor(true, false), open + special + next + text + close)) << processor(true, false);
  EXPECT_TRUE(Contains(processor(false, true), open + text + next + special + close));
  EXPECT_TRUE(Contains(processor(true, true), open + special + next + text + next + special + close));
  EXPECT_TRUE(Contains(Files(WithRule("llama-bpe")).tokenizer_json, "TemplateProcessing"));  // its default
}

TEST_F(GgufTokenizerTest, WritesTheSpecialTokensAndTheChatTemplate) {
  Tiny tiny{.tokens = {"<|im_end|>", "a", "b", "ab", "<|im_start|>"}, .types = {3, 1, 1, 1, 3}};
  tiny.more = [](GgufBuilder& file) { file.Text("tokenizer.chat_template", "{{ \"\u00e9\" }}\n"); };
  const TokenizerFiles files = Files(tiny);
  EXPECT_EQ(files.special_tokens_map_json, R"({
  "bos_token": "<|im_end|>",
  "eos_token": "<|im_end|>",
  "additional_special_tokens": [
    "<|im_start|>",
    "<|im_end|>"
  ]
}
)");
  EXPECT_TRUE(Contains(files.tokenizer_config_json, "\"chat_template\": \"{{ \\\"\u00e9\\\" }}\\n\",\n"));
  EXPECT_TRUE(Contains(files.tokenizer_config_json, "\"model_max_length\": 64,\n"));
  EXPECT_TRUE(Contains(files.tokenizer_config_json, "\"4\": {\n      \"content\": \"<|im_start|>\""));
}

TEST_F(GgufTokenizerTest, RefusesWhatIsNoByteLevelTokenizer) {
  EXPECT_TRUE(Contains(Refusal({.tokenizer = "llama"}), "tokenizer 'llama' (tokenizer.ggml.model) is not supported"));
  EXPECT_TRUE(Contains(Refusal({.tokens = {"<s>", "a", "b", "ab", "a"}}), "token 'a' is there twice"));
  EXPECT_TRUE(Contains(Refusal({.tokens = {"<s>", "a", "b", "ab", "\xc3"}}), "a token that is not UTF-8"));
  EXPECT_TRUE(Contains(Refusal({.types = {3, 1}}), "2 token types for 5 tokens"));
  EXPECT_TRUE(Contains(Refusal({.tokens = {"<s>", "a", "b", "c", "d", "e"}, .types = {3, 1, 1, 1, 1, 1}}),
                       "6 tokens for 5 rows of the embedding"));
  Tiny beyond{.tokens = {"<s>", "a", "b"}, .types = {3, 1, 1}};
  beyond.more = [](GgufBuilder& file) { file.Whole("tokenizer.ggml.padding_token_id", 4); };
  EXPECT_TRUE(Contains(Refusal(beyond), "special token id 4 is beyond the tokens"));
}

}  // namespace
}  // namespace tidemill::data
