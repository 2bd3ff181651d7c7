// The tensor encodings of GGUF that can be imported, and their values as fp32.
// Source: the GGUF specification and ggml's block layouts (https://github.com/ggml-org/ggml, docs/gguf.md).
//
//   F32, F16, BF16   one element a block
//   Q8_0  34 bytes   f16 d, 32 int8 q                    x = q * d
//   Q4_0  18 bytes   f16 d, 16 bytes                     x = (q - 8) * d
//   Q4_1  20 bytes   f16 d, f16 m, 16 bytes              x = q * d + m
//
// In the 4-bit types element i < 16 is the low half of byte i, element i + 16 its high half.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace tidemill::data {

// Values are the type numbers of the file format.
enum class GgufType : uint32_t { kF32 = 0, kF16 = 1, kQ4_0 = 2, kQ4_1 = 3, kQ8_0 = 8, kBf16 = 30 };

struct GgufBlock {
  uint64_t elements, bytes;
};
GgufBlock BlockOf(GgufType type);

// kInvalidArgument names the encoding, or its number when there is no such one.
Result<GgufType> GgufTypeFromNumber(uint32_t number);

// Whole blocks to floats: `values.size()` is a multiple of the block's elements, `blocks` has exactly their bytes.
// Products and sums are rounded one by one, as in NumPy's float32.
void Dequantize(GgufType type, std::span<const std::byte> blocks, std::span<float> values);

}  // namespace tidemill::data
