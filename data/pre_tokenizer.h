// Pre-tokenizers cut text into words before the model sees it. Each is one link of a chain: it takes a piece, cuts it,
// and hands the cuts on, in order, to the next link; the last link's cuts are the words.
//
// The kinds built so far are Digits and ByteLevel (with and without GPT-2's regular expression). A new kind is a
// sibling of digits_pre_tokenizer.cc and a line in tokenizer_json.cc.
//
//   Ownership  a piece is borrowed, and valid until the sink returns.
//   Threads    const after construction: any number of threads.
//   Limits     pieces are valid UTF-8; an empty piece yields nothing.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace tidemill::data {

using PieceSink = std::function<void(std::string_view piece)>;

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;

  // Cuts `piece` into one or more pieces.
  virtual void Cut(std::string_view piece, const PieceSink& sink) const = 0;

  // Whether a text may be handed over in two halves, the second beginning with this ASCII white space and the first
  // ending with none: the words are the same then. What cannot say so makes a long text be read as one.
  virtual bool MayCutBefore(char space) const = 0;

  // Whether a piece may come out longer than it went in, by one byte.
  virtual bool AddsSpaces() const { return false; }
};

// Digits: numbers are pieces of their own, each digit alone (`individual`) or a run of them together.
std::unique_ptr<PreTokenizer> MakeDigitsPreTokenizer(bool individual);

// ByteLevel: puts a space before a piece that does not begin with one (`add_prefix_space`), and cuts by GPT-2's regular
// expression (`use_regex`). Spelling the bytes in the byte-level alphabet is left to the model, which works on bytes.
std::unique_ptr<PreTokenizer> MakeByteLevelPreTokenizer(bool add_prefix_space, bool use_regex);

// The links one after the other.
std::unique_ptr<PreTokenizer> MakeSequencePreTokenizer(std::vector<std::unique_ptr<PreTokenizer>> links);

}  // namespace tidemill::data
