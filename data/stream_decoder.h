// StreamDecoder: text from ids that arrive one by one. It holds back a character until its last byte is there, so that
// all it gives out is valid UTF-8, and joined together equals Tokenizer::Decode() of all the ids.
//
//   Ownership  borrows the tokenizer.
//   Threads    one thread at a time.
//   Limits     at most 3 bytes are held back.
#pragma once

#include <cstdint>
#include <string>

#include "data/tokenizer.h"

namespace tidemill::data {

class StreamDecoder {
 public:
  StreamDecoder(const Tokenizer& tokenizer, bool skip_special_tokens)
      : tokenizer_(tokenizer), skip_special_tokens_(skip_special_tokens) {}

  // The text that this id completes; often empty.
  std::string Push(int32_t id);

  // What is left when no more ids come: U+FFFD for a character that was never finished, else nothing.
  std::string Flush();

 private:
  const Tokenizer& tokenizer_;
  const bool skip_special_tokens_;
  std::string held_;
};

}  // namespace tidemill::data
