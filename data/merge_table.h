// The merges of a BPE model: for a pair of neighbouring token ids, its rank (lower merges first) and what it becomes.
// A flat open-addressed table: the inner loop of tokenizing is this look-up.
//
//   Threads  const after the last Add(): any number of threads.
//   Limits   ids are not negative; fewer than 2^31 merges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tidemill::data {

struct Merge {
  int32_t rank = -1;  // -1: the pair does not merge
  int32_t result = -1;
};

class MergeTable {
 public:
  // Room for `merges` pairs.
  explicit MergeTable(size_t merges);

  // A pair that is there already takes the new rank and result, as in the reference.
  void Add(int32_t left, int32_t right, Merge merge);

  Merge Find(int32_t left, int32_t right) const;

 private:
  struct Slot {
    uint64_t pair = ~uint64_t{0};
    Merge merge;
  };

  size_t IndexOf(uint64_t pair) const;

  std::vector<Slot> slots_;  // a power of two, at most half full
  uint64_t mask_;
};

}  // namespace tidemill::data
