// {"text": ...}: a document a record, tokenized when it is asked for.
//
// The tokenizer's template goes around the text, but never doubles what the text itself begins or ends with (a BOS that
// was written into it, say). Then the end token, if there is to be one and the row does not end with it. Then the row
// is cut to max_length: a cut row ends where it was cut. Every token is a label.
#include <algorithm>

#include "data/jsonl_file.h"
#include "data/record_source.h"

namespace tidemill::data {
namespace {

Status CheckIds(const std::vector<int32_t>& ids, const Tokenizer& tokenizer, int64_t vocab_size, uint64_t sample,
                const LinePlace& place) {
  if (ids.empty())
    return BadLine("the text of sample " + std::to_string(sample) + " has no token", place, "remove the line");
  const auto beyond = std::find_if(ids.begin(), ids.end(), [&](int32_t id) { return id >= vocab_size; });
  if (beyond == ids.end()) return Ok();
  return BadLine("sample " + std::to_string(sample) + " holds '" + std::string(tokenizer.TokenBytes(*beyond)) +
                     "', token " + std::to_string(*beyond),
                 place, "the model has ids 0 to " + std::to_string(vocab_size - 1));
}

class TextSource final : public RecordSource {
 public:
  TextSource(const Tokenizer& tokenizer, const DatasetOptions& options) : tokenizer_(tokenizer), options_(options) {}

  Status Open(const std::string& path) {
    // Only a tokenizer with more ids than the model has rows can give a bad one: then it pays to look at every text
    // now.
    const bool look_at_all = tokenizer_.max_id() >= options_.vocab_size;
    uint64_t sample = 0;
    const auto visit = [&](const JsonLine& record, const LinePlace& place) -> Status {
      TM_ASSIGN_OR_RETURN(const std::string_view text, record.Text("text", place));
      longest_text_bytes_ = std::max(longest_text_bytes_, text.size());
      special_tokens_ += tokenizer_.CountSpecialTokens(text);
      const Status status = look_at_all || text.size() < kShortBytes ? Check(text, sample, place) : Ok();
      ++sample;
      return status;
    };
    TM_ASSIGN_OR_RETURN(JsonlFile file, JsonlFile::Open(path, visit));
    file_ = std::make_unique<JsonlFile>(std::move(file));
    return Ok();
  }

  uint64_t size() const override { return file_->size(); }
  uint64_t SpecialTokensInTexts() const override { return special_tokens_; }

  size_t LongestRowUpperBound() const override {
    const size_t end_tokens = options_.append_eos ? 1 : 0;
    return std::min(options_.max_length, tokenizer_.TokensUpperBound(longest_text_bytes_) + end_tokens);
  }

  Result<Sample> Get(uint64_t index) override {
    const LinePlace place = file_->PlaceOf(index);
    TM_ASSIGN_OR_RETURN(const JsonLine* record, file_->Read(index));
    TM_ASSIGN_OR_RETURN(const std::string_view text, record->Text("text", place));
    Sample row;
    row.ids = Ids(text);
    TM_RETURN_IF_ERROR(CheckIds(row.ids, tokenizer_, options_.vocab_size, index, place));
    row.labels = row.ids;
    return row;
  }

 private:
  static constexpr size_t kShortBytes = 16;  // an empty text, or one of bytes without tokens, is found at once

  Status Check(std::string_view text, uint64_t sample, const LinePlace& place) const {
    return CheckIds(Ids(text), tokenizer_, options_.vocab_size, sample, place);
  }

  std::vector<int32_t> Ids(std::string_view text) const {
    std::vector<int32_t> ids = tokenizer_.Encode(text, {.parse_special_tokens = options_.parse_special_tokens});
    DropDoubled(ids);
    if (options_.append_eos && (ids.empty() || ids.back() != *options_.append_eos)) ids.push_back(*options_.append_eos);
    ids.resize(std::min(ids.size(), options_.max_length));
    return ids;
  }

  void DropDoubled(std::vector<int32_t>& ids) const {
    const std::vector<int32_t>& before = tokenizer_.post_processor().before;
    const std::vector<int32_t>& after = tokenizer_.post_processor().after;
    const size_t inner = ids.size() - before.size() - after.size();
    if (inner > 0 && !after.empty() && ids[before.size() + inner - 1] == after.front()) {
      ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(before.size() + inner - 1));
    }
    if (inner > 0 && !before.empty() && ids.size() > before.size() && ids[before.size()] == before.back()) {
      ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(before.size()));
    }
  }

  const Tokenizer& tokenizer_;
  const DatasetOptions options_;
  std::unique_ptr<JsonlFile> file_;
  size_t longest_text_bytes_ = 0;
  uint64_t special_tokens_ = 0;
};

}  // namespace

Result<std::unique_ptr<RecordSource>> OpenTextSource(const std::string& path, const Tokenizer& tokenizer,
                                                     const DatasetOptions& options) {
  auto source = std::make_unique<TextSource>(tokenizer, options);
  TM_RETURN_IF_ERROR(source->Open(path));
  return std::unique_ptr<RecordSource>(std::move(source));
}

}  // namespace tidemill::data
