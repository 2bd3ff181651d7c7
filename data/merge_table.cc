#include "data/merge_table.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace tidemill::data {
namespace {

uint64_t PairOf(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

// Fibonacci hashing; the high half is the well-mixed one.
uint64_t Mix(uint64_t pair) {
  const uint64_t mixed = pair * 0x9E3779B97F4A7C15u;
  return mixed >> 32 ^ mixed;
}

}  // namespace

MergeTable::MergeTable(size_t merges)
    : slots_(std::bit_ceil(std::max<size_t>(16, merges * 2 + 1))), mask_(slots_.size() - 1) {}

size_t MergeTable::IndexOf(uint64_t pair) const {
  size_t index = Mix(pair) & mask_;
  while (slots_[index].pair != pair && slots_[index].merge.rank >= 0) index = (index + 1) & mask_;
  return index;
}

void MergeTable::Add(int32_t left, int32_t right, Merge merge) {
  TM_CHECK(left >= 0 && right >= 0 && merge.rank >= 0 && merge.result >= 0);
  slots_[IndexOf(PairOf(left, right))] = {PairOf(left, right), merge};
}

Merge MergeTable::Find(int32_t left, int32_t right) const { return slots_[IndexOf(PairOf(left, right))].merge; }

}  // namespace tidemill::data
