// One micro-batch: the tokens of its sequences one after another, without padding.
//
// Row r of every activation belongs to token r. A sequence is a run of rows; attention stays within it, so right
// padding never exists and packed documents never see each other.
#pragma once

#include <cstdint>
#include <vector>

namespace tidemill {

inline constexpr int32_t kIgnoredTarget = -1;

struct TokenBatch {
  std::vector<int32_t> ids;          // [rows]
  std::vector<int32_t> positions;    // [rows], from 0 in each sequence
  std::vector<int32_t> targets;      // [rows], the id that this row has to predict, or kIgnoredTarget
  std::vector<int32_t> offsets;      // [sequences + 1], first row of each sequence, then rows
  std::vector<int32_t> key_offsets;  // the same for keys: later where earlier tokens are in a cache
  int32_t longest_sequence = 0;      // rows of it
  int32_t cached = 0;                // tokens of the one sequence that are in a cache already; generation only
  int64_t supervised = 0;            // number of targets that count

  int64_t rows() const { return static_cast<int64_t>(ids.size()); }
};

}  // namespace tidemill
