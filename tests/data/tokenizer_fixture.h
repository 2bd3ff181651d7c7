// A tokenizer small enough to check by hand: every byte is a token whose id is the byte, "hi" is 256, and what a test
// adds comes after. Any section can be replaced by the JSON that a test wants to see refused.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "data/byte_level.h"
#include "data/json_text.h"
#include "data/tokenizer.h"

namespace tidemill::data {

struct TinySpec {
  std::string more_vocab = "";  // ,"abc":257
  std::string merges = R"(["h i"])";
  std::string added = "[]";
  std::string normalizer = "null";
  std::string pre_tokenizer = R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true})";
  std::string post_processor = "null";
  std::string decoder = R"({"type":"ByteLevel"})";
  std::string model_settings = R"("type":"BPE","unk_token":null)";
};

inline void AppendUtf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else {
    out += static_cast<char>(0xC0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

inline std::string TinyJson(const TinySpec& spec) {
  std::string vocab;
  for (int byte = 0; byte < 256; ++byte) {
    std::string text;
    AppendUtf8(text, ByteLevelCode(static_cast<uint8_t>(byte)));
    AppendJsonString(vocab, text, true);
    vocab += ":" + std::to_string(byte) + ",";
  }
  vocab += "\"hi\":256" + spec.more_vocab;
  return "{\"version\":\"1.0\",\"added_tokens\":" + spec.added + ",\"normalizer\":" + spec.normalizer +
         ",\"pre_tokenizer\":" + spec.pre_tokenizer + ",\"post_processor\":" + spec.post_processor +
         ",\"decoder\":" + spec.decoder + ",\"model\":{" + spec.model_settings + ",\"vocab\":{" + vocab +
         "},\"merges\":" + spec.merges + "}}";
}

inline std::unique_ptr<Tokenizer> Tiny(const TinySpec& spec = {}) {
  auto tokenizer = Tokenizer::Parse(TinyJson(spec), "tiny.json");
  EXPECT_TRUE(tokenizer.has_value()) << tokenizer.error().message;
  return tokenizer.has_value() ? std::move(*tokenizer) : nullptr;
}

// One entry of added_tokens: Added(257, "<|u|>", R"(,"rstrip":true)").
inline std::string Added(int id, const std::string& content, const std::string& flags = "") {
  std::string text;
  AppendJsonString(text, content, true);
  return "{\"id\":" + std::to_string(id) + ",\"content\":" + text + ",\"special\":true" + flags + "}";
}

// A post-processor that puts one id before a text, and one after it unless that is negative.
inline std::string Template(int before, int after = -1) {
  const std::string end = after < 0 ? "" : R"(,{"SpecialToken":{"id":"E","type_id":0}})";
  const std::string end_ids =
      after < 0 ? "" : R"(,"E":{"id":"E","ids":[)" + std::to_string(after) + R"(],"tokens":["E"]})";
  return R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"B","type_id":0}},{"Sequence":{"id":"A","type_id":0}})" +
         end + R"(],"pair":[],"special_tokens":{"B":{"id":"B","ids":[)" + std::to_string(before) +
         R"(],"tokens":["B"]})" + end_ids + "}}";
}

using Ids = std::vector<int32_t>;

}  // namespace tidemill::data
