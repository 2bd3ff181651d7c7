// The header of a safetensors file, as text and as values. The format: 8 bytes little-endian header length N, N bytes
// of JSON, then the tensors' bytes without holes (https://github.com/huggingface/safetensors, "Format").
//
//   Limits   a header is at most 100,000,000 bytes, as in the reference implementation.
//   Errors   kInvalidArgument naming file and tensor. Every rule of the format is checked before a value is returned:
//            JSON and UTF-8 validity, duplicate keys, known dtypes, shape against length, ranges in order, without
//            overlap or hole, and the file's length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"

namespace tidemill::data {

inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;

// A tensor as it is declared: row-major, `shape` from the slowest dimension; a scalar has no dimension.
struct TensorSpec {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<uint64_t> shape;
};

// A tensor as it lies in a file.
struct TensorEntry {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<uint64_t> shape;
  uint64_t elements = 0;
  uint64_t offset_bytes = 0;  // from the start of the file
  uint64_t bytes = 0;
};

using Metadata = std::vector<std::pair<std::string, std::string>>;

struct SafetensorsHeader {
  std::vector<TensorEntry> tensors;  // in the order of their bytes
  Metadata metadata;
};

// The product of a shape, or nothing when it does not fit 63 bits.
Result<uint64_t> ElementsOf(const std::vector<uint64_t>& shape);
// "[2, 3]", for messages.
std::string ShapeText(const std::vector<uint64_t>& shape);
// Bytes of a declared tensor; its shape must have been checked with ElementsOf.
uint64_t BytesOf(const TensorSpec& spec);

// `json` is the header's text without the length in front of it; `file_bytes` the length of the whole file.
Result<SafetensorsHeader> ParseSafetensorsHeader(std::string_view json, uint64_t file_bytes, const std::string& path);

// The whole front of a file: length, JSON with `{"format":"pt"}` and `extra` as metadata, spaces up to a multiple of 8.
// Duplicate names and shapes too large are refused. Byte for byte what Python's json.dumps with separators (",", ":")
// gives.
Result<std::string> FormatSafetensorsHeader(const std::vector<TensorSpec>& tensors, const Metadata& extra);

}  // namespace tidemill::data
