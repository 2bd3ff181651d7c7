#include "data/tokenizer.h"

#include <algorithm>
#include <utility>

#include "data/byte_level.h"
#include "data/input_file.h"
#include "data/unicode_class.h"
#include "data/utf8.h"

namespace tidemill::data {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{1} << 30;

}  // namespace

Result<std::unique_ptr<Tokenizer>> Tokenizer::Open(const std::filesystem::path& tokenizer_json) {
  TM_ASSIGN_OR_RETURN(const std::string json, ReadTextFile(tokenizer_json, kMaxFileBytes));
  return Parse(json, tokenizer_json.string());
}

Result<std::unique_ptr<Tokenizer>> Tokenizer::Parse(std::string_view json, const std::string& where) {
  TM_ASSIGN_OR_RETURN(TokenizerParts parts, ParseTokenizerJson(json, where));
  return std::unique_ptr<Tokenizer>(new Tokenizer(std::move(parts)));
}

Tokenizer::Tokenizer(TokenizerParts parts) : parts_(std::move(parts)) {
  for (const auto& [text, id] : parts_.vocabulary) Enter(id, text, false);
  for (const auto& token : parts_.added_tokens.tokens()) {
    Enter(token->id, token->content, token->special);
    parts_.vocabulary.emplace(token->content, token->id);
  }
}

void Tokenizer::Enter(int32_t id, std::string_view text, bool special) {
  const auto index = static_cast<size_t>(id);
  if (tokens_.size() <= index) tokens_.resize(index + 1);
  if (!tokens_[index].known) ++vocab_size_;
  tokens_[index] = {ByteLevelBytes(text).value_or(std::string(text)), true, special};
}

std::vector<int32_t> Tokenizer::Encode(std::string_view text, const EncodeOptions& options) const {
  std::string repaired;
  if (!IsUtf8(text)) text = repaired = RepairUtf8(text);
  const std::unique_lock lock(cache_mutex_, std::try_to_lock);
  WordCache* cache = lock.owns_lock() ? &cache_ : nullptr;
  std::vector<int32_t> ids;
  if (options.add_special_tokens) ids = parts_.post_processor.before;
  for (const TextSegment& segment : parts_.added_tokens.Split(text, options.parse_special_tokens)) {
    if (segment.token != nullptr) {
      ids.push_back(segment.token->id);
    } else {
      EncodeText(text.substr(segment.start_byte, segment.end_byte - segment.start_byte), cache, ids);
    }
  }
  const std::vector<int32_t>& after = parts_.post_processor.after;
  if (options.add_special_tokens) ids.insert(ids.end(), after.begin(), after.end());
  return ids;
}

void Tokenizer::EncodeText(std::string_view utf8_text, WordCache* cache, std::vector<int32_t>& ids) const {
  parts_.pre_tokenizer->Cut(utf8_text, [&](std::string_view word) {
    if (cache == nullptr) return parts_.model->EncodeWord(word, ids);
    if (const auto known = cache->Find(word); !known.empty()) {
      ids.insert(ids.end(), known.begin(), known.end());
      return;
    }
    const size_t first = ids.size();
    parts_.model->EncodeWord(word, ids);
    cache->Put(word, std::span(ids).subspan(first));
  });
}

std::string Tokenizer::Decode(std::span<const int32_t> ids, bool skip_special_tokens) const {
  std::string bytes;
  for (const int32_t id : ids) {
    if (!(skip_special_tokens && IsSpecial(id))) bytes += TokenBytes(id);
  }
  return IsUtf8(bytes) ? bytes : RepairUtf8(bytes);
}

std::string_view Tokenizer::TokenBytes(int32_t id) const {
  if (id < 0 || id > max_id()) return {};
  return tokens_[static_cast<size_t>(id)].bytes;
}

std::optional<int32_t> Tokenizer::IdOf(std::string_view token) const {
  const auto found = parts_.vocabulary.find(std::string(token));
  return found == parts_.vocabulary.end() ? std::nullopt : std::optional(found->second);
}

bool Tokenizer::IsSpecial(int32_t id) const {
  return id >= 0 && id <= max_id() && tokens_[static_cast<size_t>(id)].special;
}

size_t Tokenizer::CountSpecialTokens(std::string_view utf8_text) const {
  const std::vector<TextSegment> segments = parts_.added_tokens.Split(utf8_text, true);
  return static_cast<size_t>(std::count_if(segments.begin(), segments.end(), [](const TextSegment& segment) {
    return segment.token != nullptr && segment.token->special;
  }));
}

// A byte is at most one id; each piece, at least a byte long, may get a space.
size_t Tokenizer::TokensUpperBound(size_t text_bytes) const {
  const size_t bytes = parts_.pre_tokenizer->AddsSpaces() ? 2 * text_bytes : text_bytes;
  return bytes + parts_.post_processor.before.size() + parts_.post_processor.after.size();
}

// A place where white space follows something else is a boundary of words (MayCutBefore), and no added token that the
// text could still complete, strip flags and neighbours included, sees across it if none touches it.
size_t Tokenizer::SafeCutBytes(std::string_view utf8_text) const {
  const size_t longest = parts_.added_tokens.longest_bytes();
  if (utf8_text.size() <= longest) return 0;
  for (size_t at = utf8_text.size() - longest - 1; at > 0; --at) {
    const char space = utf8_text[at];
    if (static_cast<uint8_t>(space) >= 0x80 || !(ClassesOf(static_cast<uint8_t>(space)) & kSpace)) continue;
    if (!parts_.pre_tokenizer->MayCutBefore(space)) continue;
    if (ClassesOf(CodeBefore(utf8_text, at)) & kSpace) continue;
    if (!parts_.added_tokens.Touches(utf8_text, at)) return at;
  }
  return 0;
}

}  // namespace tidemill::data
