// One moment of a tile between fp32 and its encoding: what checkpoints and fresh starts need. A tile's page is laid out
// as cpu_adam/state_encoding.h says, codes then scales.
//
//   Errors   none. Decoding is exact; encoding values that were decoded gives the same bytes, others are rounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cpu_adam/state_encoding.h"

namespace tidemill::offload {

enum class Moment : uint8_t { kExpAvg, kExpAvgSq };

// `page` holds at least MomentBytes(dtype, values.size()) bytes, aligned to the element.
void DecodeMoment(cpu_adam::StateDtype dtype, Moment moment, std::span<std::byte> page, std::span<float> values);

// `first_element`: of the values, unique within the run and even; keys the rounding.
void EncodeMoment(cpu_adam::StateDtype dtype, Moment moment, std::span<const float> values, uint64_t first_element,
                  std::span<std::byte> page);

}  // namespace tidemill::offload
