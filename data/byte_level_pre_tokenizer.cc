// GPT-2's regular expression, scanned by hand:
//
//   's|'t|'re|'ve|'m|'ll|'d | ?\p{L}+ | ?\p{N}+ | ?[^\s\p{L}\p{N}]+ |\s+(?!\S)|\s+
//
// Its alternatives never need to look back: the first character, and the next one after a single space, decide.
#include "data/pre_tokenizer.h"
#include "data/unicode_class.h"
#include "data/utf8.h"

namespace tidemill::data {
namespace {

enum class Kind { kSpaces, kLetters, kNumbers, kOthers };

struct Character {
  Kind kind;
  size_t size_bytes;
};

Character CharacterAt(std::string_view text, size_t at) {
  const Utf8Step step = ReadUtf8(text, at);
  const uint8_t classes = ClassesOf(step.code);
  if (classes & kSpace) return {Kind::kSpaces, step.size_bytes};
  if (classes & kLetter) return {Kind::kLetters, step.size_bytes};
  if (classes & kNumber) return {Kind::kNumbers, step.size_bytes};
  return {Kind::kOthers, step.size_bytes};
}

size_t ContractionBytes(std::string_view rest) {
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (rest.starts_with(ending)) return ending.size();
  }
  return 0;
}

size_t EndOfRun(std::string_view text, size_t at, Kind kind) {
  while (at < text.size()) {
    const Character next = CharacterAt(text, at);
    if (next.kind != kind) break;
    at += next.size_bytes;
  }
  return at;
}

// White space before a word leaves its last character to the word (`\s+(?!\S)`), unless it is the only one.
size_t EndOfSpaces(std::string_view text, size_t start) {
  size_t last = start;
  size_t at = start;
  while (at < text.size()) {
    const Character next = CharacterAt(text, at);
    if (next.kind != Kind::kSpaces) return last > start ? last : at;
    last = at;
    at += next.size_bytes;
  }
  return at;
}

size_t EndOfWord(std::string_view text, size_t start) {
  if (text[start] == '\'') {
    if (const size_t bytes = ContractionBytes(text.substr(start)); bytes > 0) return start + bytes;
  }
  const size_t first = text[start] == ' ' && start + 1 < text.size() ? start + 1 : start;
  const Kind kind = CharacterAt(text, first).kind;
  return kind == Kind::kSpaces ? EndOfSpaces(text, start) : EndOfRun(text, first, kind);
}

class ByteLevelPreTokenizer final : public PreTokenizer {
 public:
  ByteLevelPreTokenizer(bool add_prefix_space, bool use_regex)
      : add_prefix_space_(add_prefix_space), use_regex_(use_regex) {}

  void Cut(std::string_view piece, const PieceSink& sink) const override {
    if (piece.empty()) return;
    if (add_prefix_space_ && piece.front() != ' ') {
      std::string prefixed(1, ' ');
      prefixed += piece;
      return CutWords(prefixed, sink);
    }
    CutWords(piece, sink);
  }

  // No alternative of the expression goes on from something else into white space. A half that began with a line break
  // would be given a space of its own, though.
  bool MayCutBefore(char space) const override { return use_regex_ && (space == ' ' || !add_prefix_space_); }

  bool AddsSpaces() const override { return add_prefix_space_; }

 private:
  void CutWords(std::string_view text, const PieceSink& sink) const {
    if (!use_regex_) return sink(text);
    for (size_t at = 0; at < text.size();) {
      const size_t end = EndOfWord(text, at);
      sink(text.substr(at, end - at));
      at = end;
    }
  }

  const bool add_prefix_space_;
  const bool use_regex_;
};

}  // namespace

std::unique_ptr<PreTokenizer> MakeByteLevelPreTokenizer(bool add_prefix_space, bool use_regex) {
  return std::make_unique<ByteLevelPreTokenizer>(add_prefix_space, use_regex);
}

}  // namespace tidemill::data
