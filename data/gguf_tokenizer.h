// The tokenizer that a GGUF file carries, as Hugging Face tokenizer files.
//
// GGUF keeps tokens, their types, merges and the name of a splitting rule (tokenizer.ggml.pre). Byte-level BPE ("gpt2")
// with the rules below can be written; everything else is refused by name.
//
//   smollm             single digits, then GPT-2's rule
//   gpt-2, default     GPT-2's rule; also where the key is absent, as in older files
//   llama-bpe          Llama 3's regular expression, words that are tokens are not merged
//   qwen2              Qwen 2's regular expression over NFC
//
//   Errors   kInvalidArgument naming file and key: lengths that differ, ids out of range, a token that is there twice.
#pragma once

#include <optional>
#include <string>

#include "data/gguf_model.h"

namespace tidemill::data {

struct TokenizerFiles {
  std::string tokenizer_json, tokenizer_config_json, special_tokens_map_json;
};

// Nothing when the file carries no tokenizer at all.
Result<std::optional<TokenizerFiles>> ReadGgufTokenizer(const GgufMetadata& keys, const GgufModel& model);

}  // namespace tidemill::data
