// Tokenizer: text to token ids and back, as the file tokenizer.json says.
//
// Equal to the reference (PyPI `tokenizers`) for what this build takes: BPE over bytes, GPT-2's and SmolLM2's kind;
// what else a file may hold is refused by name when it is opened. Text that is not UTF-8 is repaired first
// (data/utf8.h). Strings of special tokens inside a text become their ids, as in the reference; `parse_special_tokens`
// off spells them out like any other text.
//
//   Threads  const after opening: any number of threads. One of them at a time has the use of a word cache (2 MiB),
//            which changes speed only.
//   Errors   as InputFile; kInvalidArgument: it is broken, or of a kind that is not built.
//   Limits   ids below 2^24 from the vocabulary; time grows as n log n with the longest word.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/tokenizer_parts.h"
#include "data/word_cache.h"

namespace tidemill::data {

struct EncodeOptions {
  bool add_special_tokens = true;    // what the post-processor puts around the text
  bool parse_special_tokens = true;  // special tokens written inside the text become their ids
};

class Tokenizer {
 public:
  static Result<std::unique_ptr<Tokenizer>> Open(const std::filesystem::path& tokenizer_json);

  // The same from memory; `where` names it in messages.
  static Result<std::unique_ptr<Tokenizer>> Parse(std::string_view json, const std::string& where);

  std::vector<int32_t> Encode(std::string_view text, const EncodeOptions& options = {}) const;

  // Valid UTF-8 always. Ids that the tokenizer does not have are left out, as in the reference.
  std::string Decode(std::span<const int32_t> ids, bool skip_special_tokens) const;

  // The bytes that an id stands for, which need not be whole characters; empty if there is no such id.
  std::string_view TokenBytes(int32_t id) const;

  // By a token's text as the file spells it, such as "<|im_end|>".
  std::optional<int32_t> IdOf(std::string_view token) const;
  bool IsSpecial(int32_t id) const;

  // Ids and tokens; ids may leave gaps, so compare max_id() with a model's rows, not vocab_size().
  size_t vocab_size() const { return vocab_size_; }
  int32_t max_id() const { return static_cast<int32_t>(tokens_.size()) - 1; }

  const PostProcessor& post_processor() const { return parts_.post_processor; }

  // How many special tokens are written out in a text (0 for most).
  size_t CountSpecialTokens(std::string_view utf8_text) const;

  // No text of so many bytes of UTF-8 gives more ids than this, special tokens around it included.
  size_t TokensUpperBound(size_t text_bytes) const;

  // The largest n such that encoding the first n bytes and the rest apart gives the ids of the whole, whatever follows;
  // 0 if there is no such place. `utf8_text` must be valid. For StreamEncoder.
  size_t SafeCutBytes(std::string_view utf8_text) const;

 private:
  struct Token {
    std::string bytes;
    bool known = false;
    bool special = false;
  };

  explicit Tokenizer(TokenizerParts parts);
  void Enter(int32_t id, std::string_view text, bool special);
  void EncodeText(std::string_view utf8_text, WordCache* cache, std::vector<int32_t>& ids) const;

  TokenizerParts parts_;
  std::vector<Token> tokens_;  // by id
  size_t vocab_size_ = 0;
  mutable std::mutex cache_mutex_;
  mutable WordCache cache_;
};

}  // namespace tidemill::data
