// Samples to micro-batches: rows one after another, no padding.
#pragma once

#include <span>

#include "base/token_batch.h"
#include "data/sample.h"

namespace tidemill::train {

// Row t of a sample predicts label t + 1 (labels are not shifted, as in Hugging Face): the first label never counts,
// -100 is masked, and the last row predicts nothing.
TokenBatch Collate(std::span<const data::Sample> samples);

}  // namespace tidemill::train
