#include "data/bpe.h"

#include <queue>
#include <utility>

namespace tidemill::data {
namespace {

// Short words, which nearly all are: looks at every pair for each merge. Quadratic, but over a few cache lines.
constexpr size_t kShortSymbols = 32;

void MergeShort(const MergeTable& merges, std::vector<int32_t>& ids, size_t first) {
  std::array<Merge, kShortSymbols> pair;  // pair[i]: of symbols i and i + 1
  size_t count = ids.size() - first;
  int32_t* symbols = ids.data() + first;
  for (size_t i = 0; i + 1 < count; ++i) pair[i] = merges.Find(symbols[i], symbols[i + 1]);
  while (count > 1) {
    size_t best = count;
    for (size_t i = 0; i + 1 < count; ++i) {
      if (pair[i].rank >= 0 && (best == count || pair[i].rank < pair[best].rank)) best = i;
    }
    if (best == count) break;
    symbols[best] = pair[best].result;
    for (size_t i = best + 1; i + 1 < count; ++i) {
      symbols[i] = symbols[i + 1];
      pair[i - 1] = pair[i];
    }
    --count;
    if (best > 0) pair[best - 1] = merges.Find(symbols[best - 1], symbols[best]);
    if (best + 1 < count) pair[best] = merges.Find(symbols[best], symbols[best + 1]);
  }
  ids.resize(first + count);
}

// Long words: symbols in a linked list, candidates in a heap. A candidate whose symbols have changed since is
// recognised when it comes up, by looking its pair up again, and skipped.
class LongWord {
 public:
  LongWord(const MergeTable& merges, std::vector<int32_t>& ids, size_t first)
      : merges_(merges), ids_(ids), first_(first) {
    const size_t count = ids.size() - first;
    links_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      links_[i] = {static_cast<uint32_t>(i - 1), static_cast<uint32_t>(i + 1)};  // before the first: wraps to kNone
    }
    links_.back().next = kNone;
    std::vector<Candidate> candidates;
    candidates.reserve(count);
    for (uint32_t i = 0; i + 1 < count; ++i) {
      const Merge merge = merges.Find(Symbol(i), Symbol(i + 1));
      if (merge.rank >= 0) candidates.emplace_back(merge.rank, i);
    }
    heap_ = Heap(std::greater<>(), std::move(candidates));
  }

  void Run() {
    while (!heap_.empty()) {
      const auto [rank, left] = heap_.top();
      heap_.pop();
      const uint32_t right = links_[left].next;
      if (Symbol(left) < 0 || right == kNone) continue;
      const Merge merge = merges_.Find(Symbol(left), Symbol(right));
      if (merge.rank != rank) continue;
      Join(left, right, merge.result);
    }
    size_t kept = first_;
    for (uint32_t i = 0; i < links_.size(); ++i) {
      if (Symbol(i) >= 0) ids_[kept++] = Symbol(i);
    }
    ids_.resize(kept);
  }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Link {
    uint32_t previous;
    uint32_t next;
  };
  using Candidate = std::pair<int32_t, uint32_t>;  // rank, left symbol: the order of merging
  using Heap = std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>>;

  int32_t& Symbol(uint32_t index) { return ids_[first_ + index]; }

  void Join(uint32_t left, uint32_t right, int32_t result) {
    Symbol(left) = result;
    Symbol(right) = -1;
    const uint32_t after = links_[right].next;
    links_[left].next = after;
    if (after != kNone) links_[after].previous = left;
    if (after != kNone) Propose(left, after);
    if (links_[left].previous != kNone) Propose(links_[left].previous, left);
  }

  void Propose(uint32_t left, uint32_t right) {
    const Merge merge = merges_.Find(Symbol(left), Symbol(right));
    if (merge.rank >= 0) heap_.emplace(merge.rank, left);
  }

  const MergeTable& merges_;
  std::vector<int32_t>& ids_;
  const size_t first_;
  std::vector<Link> links_;
  Heap heap_;
};

}  // namespace

Bpe::Bpe(BpeModel model) : model_(std::move(model)) {}

void Bpe::EncodeWord(std::string_view word_bytes, std::vector<int32_t>& ids) const {
  if (!model_.whole_words.empty()) {
    if (const auto found = model_.whole_words.find(std::string(word_bytes)); found != model_.whole_words.end()) {
      ids.push_back(found->second);
      return;
    }
  }
  const size_t first = ids.size();
  AppendSymbols(word_bytes, ids);
  const size_t count = ids.size() - first;
  if (count < 2) return;
  if (count <= kShortSymbols) return MergeShort(model_.merges, ids, first);
  LongWord(model_.merges, ids, first).Run();
}

void Bpe::AppendSymbols(std::string_view word_bytes, std::vector<int32_t>& ids) const {
  bool in_unknown = false;
  for (const char byte : word_bytes) {
    const int32_t token = model_.token_of_byte[static_cast<uint8_t>(byte)];
    const bool unknown = token < 0;
    if (!unknown) {
      ids.push_back(token);
    } else if (model_.unknown_token >= 0 && !(in_unknown && model_.fuse_unknown)) {
      ids.push_back(model_.unknown_token);
    }
    in_unknown = unknown;
  }
}

}  // namespace tidemill::data
