// .txt: the file is one text, tokenized from front to back and cut every max_length tokens; the last row may be short.
// The tokenizer's template goes around the whole, and no end token is added: the cuts are no ends. A byte order mark at
// the start is dropped; line breaks stay as they are.
#include <algorithm>
#include <array>

#include "base/check.h"
#include "data/input_file.h"
#include "data/record_source.h"
#include "data/stream_encoder.h"
#include "data/token_spool.h"
#include "data/utf8.h"

namespace tidemill::data {
namespace {

constexpr size_t kReadBytes = size_t{256} << 10;

class PlainTextSource final : public RecordSource {
 public:
  PlainTextSource(TokenSpool spool, size_t max_length, uint64_t special_tokens)
      : spool_(std::move(spool)), max_length_(max_length), special_tokens_(special_tokens) {}

  uint64_t size() const override { return (spool_.size() + max_length_ - 1) / max_length_; }

  size_t LongestRowUpperBound() const override {
    return static_cast<size_t>(std::min<uint64_t>(spool_.size(), max_length_));
  }

  uint64_t SpecialTokensInTexts() const override { return special_tokens_; }

  Result<Sample> Get(uint64_t index) override {
    TM_CHECK(index < size());
    const uint64_t first = index * max_length_;
    Sample row;
    row.ids.resize(static_cast<size_t>(std::min<uint64_t>(max_length_, spool_.size() - first)));
    TM_RETURN_IF_ERROR(spool_.Read(first, row.ids));
    row.labels = row.ids;
    return row;
  }

 private:
  TokenSpool spool_;
  const size_t max_length_;
  const uint64_t special_tokens_;
};

uint64_t CountSpecial(const std::vector<int32_t>& ids, const Tokenizer& tokenizer) {
  return static_cast<uint64_t>(
      std::count_if(ids.begin(), ids.end(), [&](int32_t id) { return tokenizer.IsSpecial(id); }));
}

Status CheckIds(const std::vector<int32_t>& ids, const Tokenizer& tokenizer, int64_t vocab_size,
                const std::string& path) {
  const auto beyond = std::find_if(ids.begin(), ids.end(), [&](int32_t id) { return id >= vocab_size; });
  if (beyond == ids.end()) return Ok();
  return Fail(ErrorCode::kInvalidArgument, "the text holds '" + std::string(tokenizer.TokenBytes(*beyond)) +
                                               "', token " + std::to_string(*beyond) + " (" + path +
                                               "): the model has ids 0 to " + std::to_string(vocab_size - 1));
}

}  // namespace

Result<std::unique_ptr<RecordSource>> OpenPlainTextSource(const std::string& path, const Tokenizer& tokenizer,
                                                          const DatasetOptions& options) {
  TM_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  TM_ASSIGN_OR_RETURN(TokenSpool spool, TokenSpool::Create(options.spool_dir));
  StreamEncoder encoder(tokenizer, {.parse_special_tokens = options.parse_special_tokens});
  std::vector<int32_t> ids;
  std::string part;
  uint64_t special = 0;  // the template's among them
  for (uint64_t at = 0; at < file.bytes(); at += part.size()) {
    part.resize(static_cast<size_t>(std::min<uint64_t>(kReadBytes, file.bytes() - at)));
    TM_RETURN_IF_ERROR(file.ReadAt(at, std::as_writable_bytes(std::span(part))));
    const bool marked = at == 0 && part.starts_with(kByteOrderMark);
    encoder.Feed(std::string_view(part).substr(marked ? kByteOrderMark.size() : 0), ids);
    TM_RETURN_IF_ERROR(CheckIds(ids, tokenizer, options.vocab_size, path));
    TM_RETURN_IF_ERROR(spool.Append(ids));
    special += CountSpecial(ids, tokenizer);
    ids.clear();
  }
  encoder.Finish(ids);
  TM_RETURN_IF_ERROR(CheckIds(ids, tokenizer, options.vocab_size, path));
  TM_RETURN_IF_ERROR(spool.Append(ids));
  special += CountSpecial(ids, tokenizer);
  const PostProcessor& around = tokenizer.post_processor();
  special -= CountSpecial(around.before, tokenizer) + CountSpecial(around.after, tokenizer);
  if (file.bytes() == 0 || spool.size() == 0) {
    return Fail(ErrorCode::kInvalidArgument, "the text has no token (" + path + "): name another file");
  }
  return std::make_unique<PlainTextSource>(std::move(spool), options.max_length, special);
}

}  // namespace tidemill::data
