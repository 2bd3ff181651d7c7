// Internal: the generator's keys of a slice, and the moments' part of it.
#pragma once

#include "cpu_adam/kernel.h"
#include "cpu_adam/state_encoding.h"

namespace tidemill::cpu_adam {

void SetMoments(const MomentView& moments, Slice& slice);

// Whether a step draws random bits for this slice. They belong to pairs of elements: it starts at an even index.
bool IsRounded(const Slice& slice);

// Sets first_index and key of a slice whose first element has the index `first`.
void SetKeys(const RoundingKey& key, uint64_t first, Slice& slice);

// How many elements from index `first` on may share keys. int8 draws per block, so it never cuts one.
size_t RunLength(const Slice& slice, uint64_t first);

}  // namespace tidemill::cpu_adam
