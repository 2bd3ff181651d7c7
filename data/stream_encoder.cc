#include "data/stream_encoder.h"

#include "data/utf8.h"

namespace tidemill::data {
namespace {

constexpr size_t kHoldBytes = size_t{64} << 10;

}  // namespace

StreamEncoder::StreamEncoder(const Tokenizer& tokenizer, const EncodeOptions& options)
    : tokenizer_(tokenizer), options_(options), try_at_bytes_(kHoldBytes) {}

void StreamEncoder::Feed(std::string_view bytes, std::vector<int32_t>& ids) {
  const std::vector<int32_t>& before = tokenizer_.post_processor().before;
  if (!started_ && options_.add_special_tokens) ids.insert(ids.end(), before.begin(), before.end());
  started_ = true;
  unfinished_ += bytes;
  const size_t whole_bytes = unfinished_.size() - UnfinishedTailBytes(unfinished_);
  text_ += RepairUtf8(std::string_view(unfinished_).substr(0, whole_bytes));
  unfinished_.erase(0, whole_bytes);
  if (text_.size() < try_at_bytes_) return;
  const size_t cut_bytes = tokenizer_.SafeCutBytes(text_);
  Encode(std::string_view(text_).substr(0, cut_bytes), ids);
  text_.erase(0, cut_bytes);
  try_at_bytes_ = text_.size() * 2 < kHoldBytes ? kHoldBytes : text_.size() * 2;  // doubling keeps the looking linear
}

void StreamEncoder::Finish(std::vector<int32_t>& ids) {
  Feed({}, ids);
  text_ += RepairUtf8(unfinished_);
  unfinished_.clear();
  Encode(text_, ids);
  text_.clear();
  const std::vector<int32_t>& after = tokenizer_.post_processor().after;
  if (options_.add_special_tokens) ids.insert(ids.end(), after.begin(), after.end());
}

void StreamEncoder::Encode(std::string_view text, std::vector<int32_t>& ids) const {
  EncodeOptions inner = options_;
  inner.add_special_tokens = false;
  const std::vector<int32_t> more = tokenizer_.Encode(text, inner);
  ids.insert(ids.end(), more.begin(), more.end());
}

}  // namespace tidemill::data
