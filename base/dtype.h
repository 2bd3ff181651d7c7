// Element types of tensors, and the two roundings from float to bfloat16.
//
// Two roundings, on purpose:
//   RoundToBf16Even   round to nearest, ties to even: what PyTorch and NumPy do. For files that other programs read.
//   SplitMaster       round to nearest, ties away from zero: the rounding of every bf16 compute copy. With the 16 low
//                     bits kept beside it, it is a bijection over all 2^32 patterns (docs/ARCHITECTURE.md, "Split
//                     master").
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace tidemill {

enum class DType : uint8_t { kF32, kBf16, kF16, kF64, kI64, kI32, kI16, kI8, kU8, kBool };

size_t SizeOf(DType dtype);
// The safetensors spelling: "F32", "BF16", "F16", "F64", "I64", "I32", "I16", "I8", "U8", "BOOL".
std::string_view SafetensorsName(DType dtype);
Result<DType> DTypeFromSafetensorsName(std::string_view name);
// The spelling of config.json and of flags for the three training types: "float32"/"fp32", "bfloat16"/"bf16",
// "float16"/"fp16".
std::string_view TorchName(DType dtype);
Result<DType> DTypeFromTorchName(std::string_view name);

inline float Bf16ToFloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

// NaN stays NaN (quiet), infinities stay, overflow becomes infinity.
inline uint16_t RoundToBf16Even(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<uint16_t>((bits >> 16) | 0x40U);
  return static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

// IEEE binary16, round to nearest even; subnormals, infinities and NaN included.
uint16_t RoundToF16Even(float value);
float F16ToFloat(uint16_t bits);

struct SplitBits {
  uint16_t param;  // the bf16 compute copy
  uint16_t rest;   // the low half of the fp32 master
};
inline SplitBits SplitMaster(float master) {
  const uint32_t bits = std::bit_cast<uint32_t>(master);
  return {static_cast<uint16_t>((bits + 0x8000U) >> 16), static_cast<uint16_t>(bits & 0xffffU)};
}
inline float JoinMaster(uint16_t param, uint16_t rest) {
  const auto high = static_cast<uint16_t>(param - (rest >> 15));
  return std::bit_cast<float>((static_cast<uint32_t>(high) << 16) | rest);
}

}  // namespace tidemill
