// One tier's bytes as a row of slots and gaps. Each gap remembers what must have ended before its bytes are written
// again, so an arena hands out space before that space is free in time.
//
//   Units    offsets and sizes in bytes, offsets from the start of the tier; all are whole pages of 4096.
//   Cost     Find looks at every gap once, and only if none will do at every slot; all else is logarithmic.
//   Limits   one slot for each page; slots never move.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "swap_scheduler/clock.h"

namespace tidemill::swap_scheduler {

// How long a slot may still be needed: kStays, or one more than the operation that needs it next; kNever is last.
using Rank = uint32_t;
inline constexpr Rank kStays = 0;
inline constexpr Rank kNever = std::numeric_limits<Rank>::max();

class Arena {
 public:
  using Node = uint32_t;
  static constexpr Node kNone = std::numeric_limits<Node>::max();

  struct Run {
    Node first = kNone, last = kNone;
    std::vector<PageId> victims{};  // empty: gaps only
  };

  // [base, base + bytes) is free. Space from `plain` on is taken first: below it lie berths that will be wanted.
  Arena(uint64_t base, uint64_t bytes, uint64_t plain);

  // Where to put `bytes`. Gaps that hold them if there are any: best such that wait for none but the first `settled`
  // events, else those that have waited longest; then above the berths, of the exact size, of the fewest bytes. Without
  // gaps the run of neighbours whose nearest next use, by `rank(page)`, is farthest; then the shortest such.
  // first == kNone: nowhere.
  template <typename RankOf>
  Run Find(uint64_t bytes, uint32_t settled, const RankOf& rank) const;

  // The slots that lie in [offset, offset + bytes), and whether those bytes are inside the arena.
  std::vector<PageId> Occupants(uint64_t offset, uint64_t bytes) const;
  bool Contains(uint64_t offset, uint64_t bytes) const { return offset >= base_ && offset + bytes <= base_ + bytes_; }

  // A slot for `page` at the start of a run of gaps, or at an offset under which there are only gaps. Adds to `clock`
  // what must end before the slot is written, and returns the slot; its offset stays the same for its life.
  Node Carve(const Run& run, uint64_t bytes, PageId page, Clock& clock);
  Node CarveAt(uint64_t offset, uint64_t bytes, PageId page, Clock& clock);
  uint64_t offset(Node node) const { return nodes_[node].offset; }

  // The slot becomes a gap whose bytes may be written when `clock` has ended.
  void Release(Node slot, const Clock& clock, uint32_t settled);

  // Joins all neighbouring gaps: the next slots are packed without holes, and wait for all that was here.
  void MergeGaps();

  std::vector<PageId> Pages() const;
  uint64_t bytes() const { return bytes_; }

 private:
  static constexpr PageId kGap = std::numeric_limits<PageId>::max();
  struct Slot {
    uint64_t offset = 0, bytes = 0;
    Node before = kNone, after = kNone;
    PageId page = kGap;
    Clock clock{};  // gaps only
  };

  Run FindGaps(uint64_t bytes, uint32_t settled) const;
  Node New(const Slot& slot);
  void Erase(Node node);
  void AddGap(Node node);
  void RemoveGap(Node node);
  void MergeWithNext(Node node);
  void MergeIfFree(Node node, uint32_t settled);

  uint64_t base_, bytes_, plain_;
  Node head_ = kNone;
  std::vector<Slot> nodes_;
  std::vector<Node> unused_;
  std::map<uint64_t, Node> gaps_;                                     // by offset
  std::map<uint64_t, Node> taken_;                                    // the others, by offset
  std::set<std::tuple<uint64_t, bool, uint32_t, uint64_t>> by_size_;  // gaps: bytes, below plain, age, offset
};

template <typename RankOf>
Arena::Run Arena::Find(uint64_t bytes, uint32_t settled, const RankOf& rank) const {
  if (Run gaps = FindGaps(bytes, settled); gaps.first != kNone) return gaps;
  Run best;
  Rank best_rank = kStays;
  uint64_t best_bytes = 0, total = 0;
  Node first = head_;
  struct Candidate {
    Node node;
    Rank rank;
  };
  std::deque<Candidate> nearest;  // of the window first..node, ranks growing: the front is the nearest next use
  for (Node node = head_; node != kNone; node = nodes_[node].after) {
    const Rank node_rank = nodes_[node].page == kGap ? kNever : rank(nodes_[node].page);
    if (node_rank == kStays) {
      first = nodes_[node].after;
      total = 0;
      nearest.clear();
      continue;
    }
    while (!nearest.empty() && nearest.back().rank >= node_rank) nearest.pop_back();
    nearest.push_back({node, node_rank});
    total += nodes_[node].bytes;
    while (total - nodes_[first].bytes >= bytes) {
      total -= nodes_[first].bytes;
      if (nearest.front().node == first) nearest.pop_front();
      first = nodes_[first].after;
    }
    const Rank run_rank = nearest.front().rank;
    if (total >= bytes && (run_rank > best_rank || (run_rank == best_rank && total < best_bytes))) {
      best.first = first;
      best.last = node;
      best_rank = run_rank;
      best_bytes = total;
    }
  }
  for (Node node = best.first; node != kNone; node = nodes_[node].after) {
    if (nodes_[node].page != kGap) best.victims.push_back(nodes_[node].page);
    if (node == best.last) break;
  }
  return best;
}

}  // namespace tidemill::swap_scheduler
