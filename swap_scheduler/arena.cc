#include "swap_scheduler/arena.h"

#include <iterator>

#include "base/check.h"

namespace tidemill::swap_scheduler {

Arena::Arena(uint64_t base, uint64_t bytes, uint64_t plain) : base_(base), bytes_(bytes), plain_(plain) {
  const uint64_t end = base + bytes;
  for (const auto& [from, to] : {std::pair(base, std::min(plain, end)), std::pair(std::min(plain, end), end)}) {
    if (from == to) continue;
    const Node node = New({.offset = from, .bytes = to - from, .before = head_});
    (head_ == kNone ? head_ : nodes_[head_].after) = node;
    AddGap(node);
  }
}

Arena::Run Arena::FindGaps(uint64_t bytes, uint32_t settled) const {
  Run best;
  const auto exact = by_size_.lower_bound({bytes, false, 0, 0});
  if (exact != by_size_.end() && std::get<0>(*exact) == bytes && !std::get<1>(*exact) &&
      std::get<2>(*exact) <= settled) {
    best.first = best.last = gaps_.at(std::get<3>(*exact));
    return best;
  }
  std::tuple<uint32_t, bool, bool, uint64_t> best_key;
  Node first = kNone, previous = kNone;
  uint64_t total = 0;
  for (const auto& [offset, node] : gaps_) {
    if (previous == kNone || nodes_[previous].after != node) {  // not neighbours
      first = node;
      total = 0;
    }
    previous = node;
    total += nodes_[node].bytes;
    while (total - nodes_[first].bytes >= bytes) {
      total -= nodes_[first].bytes;
      first = nodes_[first].after;
    }
    if (total < bytes) continue;
    uint32_t age = nodes_[node].clock.Age();
    for (Node n = first; n != node; n = nodes_[n].after) age = std::max(age, nodes_[n].clock.Age());
    const std::tuple key(age <= settled ? 0 : age, nodes_[first].offset < plain_, total != bytes, total);
    if (best.first == kNone || key < best_key) {
      best.first = first;
      best.last = node;
      best_key = key;
    }
  }
  return best;
}

std::vector<PageId> Arena::Occupants(uint64_t offset, uint64_t bytes) const {
  std::vector<PageId> pages;
  auto slot = taken_.upper_bound(offset);
  if (slot != taken_.begin() && std::prev(slot)->first + nodes_[std::prev(slot)->second].bytes > offset) --slot;
  for (; slot != taken_.end() && slot->first < offset + bytes; ++slot) pages.push_back(nodes_[slot->second].page);
  return pages;
}

Arena::Node Arena::Carve(const Run& run, uint64_t bytes, PageId page, Clock& clock) {
  const Node slot = New({.offset = nodes_[run.first].offset, .bytes = bytes, .page = page});
  uint64_t left = bytes;
  Node node = run.first;
  const Node before = nodes_[node].before;
  while (left > 0) {
    TM_CHECK(node != kNone && nodes_[node].page == kGap);
    clock.Add(nodes_[node].clock);
    const uint64_t taken = std::min(left, nodes_[node].bytes);
    left -= taken;
    RemoveGap(node);
    nodes_[node].offset += taken;
    nodes_[node].bytes -= taken;
    const Node after = nodes_[node].after;
    if (nodes_[node].bytes == 0) {
      Erase(node);
      node = after;
    } else {
      AddGap(node);
    }
  }
  nodes_[slot].before = before;
  nodes_[slot].after = node;
  (before == kNone ? head_ : nodes_[before].after) = slot;
  if (node != kNone) nodes_[node].before = slot;
  taken_[nodes_[slot].offset] = slot;
  return slot;
}

Arena::Node Arena::CarveAt(uint64_t offset, uint64_t bytes, PageId page, Clock& clock) {
  Node node = std::prev(gaps_.upper_bound(offset))->second;
  if (nodes_[node].offset < offset) {  // split what sticks out in front
    Slot rest = nodes_[node];
    TM_CHECK(rest.page == kGap && rest.offset + rest.bytes > offset);
    const uint64_t front = offset - rest.offset;
    rest.offset = offset;
    rest.bytes -= front;
    rest.before = node;
    const Node split = New(rest);
    if (rest.after != kNone) nodes_[rest.after].before = split;
    RemoveGap(node);
    nodes_[node].bytes = front;
    nodes_[node].after = split;
    AddGap(node);
    AddGap(split);
    node = split;
  }
  return Carve({.first = node, .last = node, .victims = {}}, bytes, page, clock);
}

void Arena::Release(Node slot, const Clock& clock, uint32_t settled) {
  taken_.erase(nodes_[slot].offset);
  nodes_[slot].page = kGap;
  nodes_[slot].clock = clock;
  AddGap(slot);
  MergeIfFree(slot, settled);
  if (nodes_[slot].before != kNone) MergeIfFree(nodes_[slot].before, settled);
}

// Merging makes all of the space wait for the latest part: only for equals, and where the wait is over anyway.
void Arena::MergeIfFree(Node node, uint32_t settled) {
  const Node after = nodes_[node].after;
  if (after == kNone || nodes_[node].page != kGap || nodes_[after].page != kGap) return;
  if (nodes_[after].offset == plain_) return;  // or all would count as below it
  const bool free = std::max(nodes_[node].clock.Age(), nodes_[after].clock.Age()) <= settled;
  if (free || nodes_[node].clock == nodes_[after].clock) MergeWithNext(node);
}

void Arena::MergeGaps() {
  for (Node node = head_; node != kNone; node = nodes_[node].after) {
    while (nodes_[node].page == kGap && nodes_[node].after != kNone && nodes_[nodes_[node].after].page == kGap) {
      MergeWithNext(node);
    }
  }
}

std::vector<PageId> Arena::Pages() const {
  std::vector<PageId> pages;
  pages.reserve(taken_.size());
  for (const auto& [offset, node] : taken_) pages.push_back(nodes_[node].page);
  return pages;
}

Arena::Node Arena::New(const Slot& slot) {
  if (unused_.empty()) {
    nodes_.push_back(slot);
    return static_cast<Node>(nodes_.size() - 1);
  }
  const Node node = unused_.back();
  unused_.pop_back();
  nodes_[node] = slot;
  return node;
}

void Arena::Erase(Node node) {
  const Slot& slot = nodes_[node];
  (slot.before == kNone ? head_ : nodes_[slot.before].after) = slot.after;
  if (slot.after != kNone) nodes_[slot.after].before = slot.before;
  unused_.push_back(node);
}

void Arena::AddGap(Node node) {
  const Slot& gap = nodes_[node];
  gaps_[gap.offset] = node;
  by_size_.insert({gap.bytes, gap.offset < plain_, gap.clock.Age(), gap.offset});
}

void Arena::RemoveGap(Node node) {
  const Slot& gap = nodes_[node];
  gaps_.erase(gap.offset);
  by_size_.erase({gap.bytes, gap.offset < plain_, gap.clock.Age(), gap.offset});
}

void Arena::MergeWithNext(Node node) {
  const Node after = nodes_[node].after;
  RemoveGap(node);
  RemoveGap(after);
  nodes_[node].bytes += nodes_[after].bytes;
  nodes_[node].clock.Add(nodes_[after].clock);
  Erase(after);
  AddGap(node);
}

}  // namespace tidemill::swap_scheduler
