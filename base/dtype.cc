#include "base/dtype.h"

#include <array>

#include "base/check.h"

namespace tidemill {
namespace {

struct Row {
  DType dtype;
  size_t bytes;
  std::string_view safetensors, torch, flag;
};
constexpr std::array<Row, 10> kRows{{{DType::kF32, 4, "F32", "float32", "fp32"},
                                     {DType::kBf16, 2, "BF16", "bfloat16", "bf16"},
                                     {DType::kF16, 2, "F16", "float16", "fp16"},
                                     {DType::kF64, 8, "F64", "float64", "fp64"},
                                     {DType::kI64, 8, "I64", "int64", ""},
                                     {DType::kI32, 4, "I32", "int32", ""},
                                     {DType::kI16, 2, "I16", "int16", ""},
                                     {DType::kI8, 1, "I8", "int8", ""},
                                     {DType::kU8, 1, "U8", "uint8", ""},
                                     {DType::kBool, 1, "BOOL", "bool", ""}}};

const Row& RowOf(DType dtype) {
  for (const Row& row : kRows) {
    if (row.dtype == dtype) return row;
  }
  TM_CHECK(false);
}

}  // namespace

size_t SizeOf(DType dtype) { return RowOf(dtype).bytes; }
std::string_view SafetensorsName(DType dtype) { return RowOf(dtype).safetensors; }
std::string_view TorchName(DType dtype) { return RowOf(dtype).torch; }

Result<DType> DTypeFromSafetensorsName(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.safetensors == name) return row.dtype;
  }
  return Fail(ErrorCode::kInvalidArgument, "dtype '" + std::string(name) + "' is not supported");
}

Result<DType> DTypeFromTorchName(std::string_view name) {
  if (name.starts_with("torch.")) name.remove_prefix(6);
  for (const Row& row : kRows) {
    if (row.torch == name || (!row.flag.empty() && row.flag == name)) return row.dtype;
  }
  return Fail(ErrorCode::kInvalidArgument, "dtype '" + std::string(name) + "' is not known: use fp32, bf16 or fp16");
}

uint16_t RoundToF16Even(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000U);
  const uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<uint16_t>(sign | 0x7e00U | ((magnitude >> 13) & 0x3ffU));
  if (magnitude >= 0x477ff000U) return static_cast<uint16_t>(sign | 0x7c00U);  // rounds past 65504
  if (magnitude < 0x38800000U) {                                               // subnormal in half precision
    // Adding 0.5 lines the half's last bit up with the float's, and the addition rounds to nearest even.
    const float aligned = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(aligned) - 0x3f000000U));
  }
  const uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}

float F16ToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fU;
  const uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112U) << 23) | (mantissa << 13));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

}  // namespace tidemill
