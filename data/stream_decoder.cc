#include "data/stream_decoder.h"

#include <utility>

#include "data/utf8.h"

namespace tidemill::data {

std::string StreamDecoder::Push(int32_t id) {
  if (skip_special_tokens_ && tokenizer_.IsSpecial(id)) return {};
  held_ += tokenizer_.TokenBytes(id);
  const size_t whole_bytes = held_.size() - UnfinishedTailBytes(held_);
  std::string text = RepairUtf8(std::string_view(held_).substr(0, whole_bytes));
  held_.erase(0, whole_bytes);
  return text;
}

std::string StreamDecoder::Flush() { return RepairUtf8(std::exchange(held_, {})); }

}  // namespace tidemill::data
