#include "train/collate.h"

#include <algorithm>

namespace tidemill::train {

TokenBatch Collate(std::span<const data::Sample> samples) {
  TokenBatch batch;
  batch.offsets.push_back(0);
  for (const data::Sample& sample : samples) {
    for (size_t t = 0; t < sample.ids.size(); ++t) {
      const int32_t label = t + 1 < sample.ids.size() ? sample.labels[t + 1] : -1;
      const bool counts = label >= 0;
      batch.ids.push_back(sample.ids[t]);
      batch.positions.push_back(static_cast<int32_t>(t));
      batch.targets.push_back(counts ? label : kIgnoredTarget);
      batch.supervised += counts ? 1 : 0;
    }
    batch.offsets.push_back(static_cast<int32_t>(batch.ids.size()));
    batch.longest_sequence = std::max(batch.longest_sequence, static_cast<int32_t>(sample.ids.size()));
  }
  batch.key_offsets = batch.offsets;
  return batch;
}

}  // namespace tidemill::train
