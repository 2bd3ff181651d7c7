// Byte-pair encoding: a word's bytes become token ids, and neighbours are merged, lowest rank first, leftmost first
// among equals, until none merges any more.
//
// Words are bytes, and each byte has at most one token (byte-level models). What has none becomes the unknown token, or
// is dropped if the model names no unknown token; its neighbours then meet and may merge, as in the reference.
//
//   Source   Sennrich et al. 2016 (arXiv:1508.07909), and the reference tokenizer for what it leaves open.
//   Threads  const after construction: any number of threads.
//   Limits   a word of n bytes takes O(n log n) time and 40 n bytes; nothing is quadratic in a word's length.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/merge_table.h"

namespace tidemill::data {

struct BpeModel {
  std::array<int32_t, 256> token_of_byte;  // -1: none
  MergeTable merges;
  int32_t unknown_token = -1;                            // -1: bytes without a token are dropped
  bool fuse_unknown = false;                             // a run of unknown bytes is one unknown token
  std::unordered_map<std::string, int32_t> whole_words;  // ignore_merges: a word found here is not spelled at all
};

class Bpe {
 public:
  explicit Bpe(BpeModel model);

  // Appends the ids of one word.
  void EncodeWord(std::string_view word_bytes, std::vector<int32_t>& ids) const;

 private:
  void AppendSymbols(std::string_view word_bytes, std::vector<int32_t>& ids) const;

  BpeModel model_;
};

}  // namespace tidemill::data
