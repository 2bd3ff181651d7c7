// StreamEncoder: ids from text that arrives in parts, such as a file larger than memory. The ids, joined together,
// equal Tokenizer::Encode() of the whole text, special tokens around it included.
//
//   Ownership  borrows the tokenizer.
//   Threads    one thread at a time.
//   Limits     holds about 64 KiB, or as much as it takes to find a place between words that no added token touches:
//              text without white space is held whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"

namespace tidemill::data {

class StreamEncoder {
 public:
  StreamEncoder(const Tokenizer& tokenizer, const EncodeOptions& options);

  // Takes the next bytes, which may end inside a character, and appends the ids that are settled.
  void Feed(std::string_view bytes, std::vector<int32_t>& ids);

  // Appends the rest. Nothing may be fed after it.
  void Finish(std::vector<int32_t>& ids);

 private:
  void Encode(std::string_view text, std::vector<int32_t>& ids) const;

  const Tokenizer& tokenizer_;
  const EncodeOptions options_;
  std::string unfinished_;  // the first bytes of a character that the last part cut
  std::string text_;        // valid UTF-8, not yet encoded
  size_t try_at_bytes_;     // text_ is looked at again when it has grown to this
  bool started_ = false;
};

}  // namespace tidemill::data
