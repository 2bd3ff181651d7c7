#include "data/pre_tokenizer.h"
#include "data/unicode_class.h"
#include "data/utf8.h"

namespace tidemill::data {
namespace {

class DigitsPreTokenizer final : public PreTokenizer {
 public:
  explicit DigitsPreTokenizer(bool individual) : individual_(individual) {}

  void Cut(std::string_view piece, const PieceSink& sink) const override {
    size_t start = 0;
    bool in_number = false;
    for (size_t at = 0; at < piece.size();) {
      const Utf8Step step = ReadUtf8(piece, at);
      const bool numeric = (ClassesOf(step.code) & kNumeric) != 0;
      const bool boundary = numeric != in_number || (numeric && individual_);
      if (boundary && at > start) {
        sink(piece.substr(start, at - start));
        start = at;
      }
      in_number = numeric;
      at += step.size_bytes;
    }
    if (start < piece.size()) sink(piece.substr(start));
  }

  // White space is no digit: the cut only parts text that ByteLevel, which comes later, parts there as well.
  bool MayCutBefore(char /*space*/) const override { return true; }

 private:
  const bool individual_;
};

}  // namespace

std::unique_ptr<PreTokenizer> MakeDigitsPreTokenizer(bool individual) {
  return std::make_unique<DigitsPreTokenizer>(individual);
}

}  // namespace tidemill::data
