#include "data/added_tokens.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/check.h"
#include "data/unicode_class.h"
#include "data/utf8.h"

namespace tidemill::data {
namespace {

bool WordBefore(std::string_view text, size_t at) { return at > 0 && (ClassesOf(CodeBefore(text, at)) & kWord) != 0; }

bool WordAfter(std::string_view text, size_t at) {
  return at < text.size() && (ClassesOf(ReadUtf8(text, at).code) & kWord) != 0;
}

size_t StartOfSpacesBefore(std::string_view text, size_t at) {
  while (at > 0) {
    size_t start = at - 1;
    while (start > 0 && (static_cast<uint8_t>(text[start]) & 0xC0) == 0x80) --start;
    if ((ClassesOf(ReadUtf8(text, start).code) & kSpace) == 0) break;
    at = start;
  }
  return at;
}

size_t EndOfSpacesAfter(std::string_view text, size_t at) {
  while (at < text.size()) {
    const Utf8Step step = ReadUtf8(text, at);
    if ((ClassesOf(step.code) & kSpace) == 0) break;
    at += step.size_bytes;
  }
  return at;
}

}  // namespace

// The tokens' bytes as a tree; a walk from each place of the text finds the longest token there.
class AddedTokens::Trie {
 public:
  Trie() : nodes_(1) {}

  void Add(const AddedToken& token) {
    size_t node = 0;
    for (const char byte : token.content) {
      const auto [child, fresh] = nodes_[node].children.try_emplace(byte, nodes_.size());
      node = child->second;
      if (fresh) nodes_.emplace_back();
    }
    nodes_[node].token = &token;
    begins_[static_cast<uint8_t>(token.content.front())] = true;
  }

  const AddedToken* LongestAt(std::string_view text, size_t at) const {
    if (!begins_[static_cast<uint8_t>(text[at])]) return nullptr;
    const AddedToken* longest = nullptr;
    size_t node = 0;
    for (; at < text.size(); ++at) {
      const auto child = nodes_[node].children.find(text[at]);
      if (child == nodes_[node].children.end()) break;
      node = child->second;
      if (nodes_[node].token != nullptr) longest = nodes_[node].token;
    }
    return longest;
  }

  // Appends the segments of text[start, end), as if nothing were around it.
  void Split(std::string_view whole, size_t start, size_t end, bool parse_special,
             std::vector<TextSegment>& out) const {
    const std::string_view text = whole.substr(start, end - start);
    size_t done = 0;
    for (size_t at = 0; at < text.size();) {
      const AddedToken* token = LongestAt(text, at);
      if (token == nullptr) {
        ++at;
        continue;
      }
      const size_t match = at;
      at += token->content.size();
      if (token->special && !parse_special) continue;
      if (token->single_word && (WordBefore(text, match) || WordAfter(text, at))) continue;
      const size_t from = token->lstrip ? std::max(StartOfSpacesBefore(text, match), done) : match;
      const size_t to = token->rstrip ? EndOfSpacesAfter(text, at) : at;
      if (done < from) out.push_back({start + done, start + from, nullptr});
      if (from < to) out.push_back({start + from, start + to, token});  // else the token before it took it all
      done = std::max(from, to);
    }
    if (done < text.size()) out.push_back({start + done, end, nullptr});
  }

 private:
  struct Node {
    std::map<char, size_t> children;
    const AddedToken* token = nullptr;
  };
  std::vector<Node> nodes_;
  std::array<bool, 256> begins_{};
};

AddedTokens::AddedTokens() : raw_(std::make_unique<Trie>()), normalized_(std::make_unique<Trie>()) {}
AddedTokens::~AddedTokens() = default;
AddedTokens::AddedTokens(AddedTokens&&) noexcept = default;
AddedTokens& AddedTokens::operator=(AddedTokens&&) noexcept = default;

void AddedTokens::Add(AddedToken token) {
  TM_CHECK(!token.content.empty());
  longest_bytes_ = std::max(longest_bytes_, token.content.size());
  tokens_.push_back(std::make_unique<AddedToken>(std::move(token)));
  (tokens_.back()->normalized ? normalized_ : raw_)->Add(*tokens_.back());
}

bool AddedTokens::Touches(std::string_view text, size_t at) const {
  for (size_t start = at - std::min(at, longest_bytes_); start <= at && start < text.size(); ++start) {
    for (const Trie* trie : {raw_.get(), normalized_.get()}) {
      const AddedToken* token = trie->LongestAt(text, start);
      if (token != nullptr && start + token->content.size() >= at) return true;
    }
  }
  return false;
}

std::vector<TextSegment> AddedTokens::Split(std::string_view text, bool parse_special) const {
  std::vector<TextSegment> raw;
  raw_->Split(text, 0, text.size(), parse_special, raw);
  std::vector<TextSegment> segments;
  for (const TextSegment& segment : raw) {
    if (segment.token != nullptr) {
      segments.push_back(segment);
    } else {
      normalized_->Split(text, segment.start_byte, segment.end_byte, parse_special, segments);
    }
  }
  return segments;
}

}  // namespace tidemill::data
