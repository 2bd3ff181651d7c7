// Added tokens: strings that are found in the text before anything else looks at it, each one an id.
//
// Matching is leftmost, and the longest at a place wins. Tokens with `normalized` off are looked for first, in the
// whole text; the others then in what is between (a build without normalizers has no other difference). Flags, as in
// the reference: `single_word` only matches where no word character touches it, and a match it refuses is not retried
// shorter; `lstrip` and `rstrip` swallow the white space on that side. `special` ones are left out of a decoding that
// skips special tokens, and can be spelled out as ordinary text instead of being found (`parse_special` off).
//
//   Threads  const after the last Add(): any number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tidemill::data {

struct AddedToken {
  int32_t id = 0;
  std::string content;  // not empty
  bool special = false;
  bool lstrip = false;
  bool rstrip = false;
  bool single_word = false;
  bool normalized = false;
};

// A stretch of text: an added token (with what it swallowed), or text between them (`token` null).
struct TextSegment {
  size_t start_byte;
  size_t end_byte;
  const AddedToken* token;
};

class AddedTokens {
 public:
  AddedTokens();
  ~AddedTokens();
  AddedTokens(AddedTokens&&) noexcept;
  AddedTokens& operator=(AddedTokens&&) noexcept;

  void Add(AddedToken token);

  // Cuts valid UTF-8 into segments, in order, none of them empty. Segments of tokens may overlap where one strips what
  // the next begins with; each still counts.
  std::vector<TextSegment> Split(std::string_view text, bool parse_special) const;

  // Whether a token's content (its flags aside) begins at `at`, or began before and reaches it.
  bool Touches(std::string_view text, size_t at) const;

  const std::vector<std::unique_ptr<AddedToken>>& tokens() const { return tokens_; }
  size_t longest_bytes() const { return longest_bytes_; }

 private:
  class Trie;

  std::vector<std::unique_ptr<AddedToken>> tokens_;
  std::unique_ptr<Trie> raw_;
  std::unique_ptr<Trie> normalized_;
  size_t longest_bytes_ = 0;
};

}  // namespace tidemill::data
