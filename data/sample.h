// One row of training data.
#pragma once

#include <cstdint>
#include <vector>

namespace tidemill::data {

// The label of a token that is not to be learned.
inline constexpr int32_t kIgnoredLabel = -100;

// `labels` is as long as `ids` and not shifted: the label at i is token i, or kIgnoredLabel; the model learns to say it
// after the tokens before i. So the label at 0 never counts.
struct Sample {
  std::vector<int32_t> ids;
  std::vector<int32_t> labels;
};

}  // namespace tidemill::data
