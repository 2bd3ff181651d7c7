// Reads one GGUF file, version 2 or 3, little-endian: metadata whole, tensors in pieces as fp32.
// Source: https://github.com/ggml-org/ggml, docs/gguf.md.
//
//   Ownership   owns the open file and the metadata; no tensor's bytes are kept or mapped.
//   Threads     const methods may be called from many threads at once.
//   Errors      kInvalidArgument naming file and tensor or key: every count, length, offset and range is checked
//               against the file before it is used. kIo for the disk.
//   Limits      as GgufMetadata; 131,072 tensors, 4 dimensions, alignment a power of two from 8 to 64 KiB.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/gguf_metadata.h"
#include "data/gguf_types.h"

namespace tidemill::data {

struct GgufTensor {
  std::string name;
  GgufType type = GgufType::kF32;
  std::vector<uint64_t> shape;  // row-major: the reverse of the file's order
  uint64_t elements = 0;
  uint64_t offset_bytes = 0;  // from the start of the file
  uint64_t bytes = 0;
};

class GgufReader {
 public:
  static Result<GgufReader> Open(const std::string& path);

  const GgufMetadata& metadata() const { return metadata_; }
  const std::vector<GgufTensor>& tensors() const { return tensors_; }  // in the order of the file
  const GgufTensor* Find(std::string_view name) const;
  const std::string& path() const { return file_.path(); }

  // Elements as fp32. Both `first_element` and the span's size are multiples of the type's block; 64 KiB of stack.
  Status ReadAsFloat(const GgufTensor& tensor, uint64_t first_element, std::span<float> destination) const;

 private:
  explicit GgufReader(InputFile file) : file_(std::move(file)) {}
  Status ReadTensors(GgufCursor& cursor, uint64_t count);
  Status Place(uint64_t data_start, uint64_t alignment);

  InputFile file_;
  GgufMetadata metadata_;
  std::vector<GgufTensor> tensors_;
  std::unordered_map<std::string_view, size_t> by_name_;
};

}  // namespace tidemill::data
