#include <algorithm>
#include <utility>

#include "data/pre_tokenizer.h"

namespace tidemill::data {
namespace {

class SequencePreTokenizer final : public PreTokenizer {
 public:
  explicit SequencePreTokenizer(std::vector<std::unique_ptr<PreTokenizer>> links) : links_(std::move(links)) {}

  void Cut(std::string_view piece, const PieceSink& sink) const override { CutFrom(0, piece, sink); }

  bool MayCutBefore(char space) const override {
    return std::all_of(links_.begin(), links_.end(), [&](const auto& link) { return link->MayCutBefore(space); });
  }

  bool AddsSpaces() const override {
    return std::any_of(links_.begin(), links_.end(), [](const auto& link) { return link->AddsSpaces(); });
  }

 private:
  void CutFrom(size_t index, std::string_view piece, const PieceSink& sink) const {
    if (index == links_.size()) return sink(piece);
    links_[index]->Cut(piece, [&](std::string_view cut) { CutFrom(index + 1, cut, sink); });
  }

  const std::vector<std::unique_ptr<PreTokenizer>> links_;
};

}  // namespace

std::unique_ptr<PreTokenizer> MakeSequencePreTokenizer(std::vector<std::unique_ptr<PreTokenizer>> links) {
  return std::make_unique<SequencePreTokenizer>(std::move(links));
}

}  // namespace tidemill::data
