// Reads one safetensors file, tensor by tensor or piece by piece, straight into the caller's memory.
//
//   Ownership   owns the open file and the parsed header; no tensor's bytes are ever kept, mapped or read ahead.
//   Threads     const methods may be called from many threads at once.
//   Errors      kInvalidArgument for a file that breaks the format (see safetensors_header.h), kIo for the disk.
//   Limits      payloads may start at any byte offset. ReadAsFloat uses 64 KiB of stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/input_file.h"
#include "data/safetensors_header.h"

namespace tidemill::data {

class SafetensorsReader {
 public:
  // Reads and checks the header and the file's length.
  static Result<SafetensorsReader> Open(const std::string& path);

  // In the order of their bytes.
  const std::vector<TensorEntry>& tensors() const { return header_.tensors; }
  const Metadata& metadata() const { return header_.metadata; }
  const std::string& path() const { return file_.path(); }
  // nullptr when there is none of that name.
  const TensorEntry* Find(std::string_view name) const;

  // Bytes of the tensor as they are, from `first_byte` of it. The range must lie within the tensor.
  Status ReadBytes(const TensorEntry& tensor, uint64_t first_byte, std::span<std::byte> destination) const;

  // Elements as fp32, from `first_element` of the tensor: exact from F32, BF16 and F16, rounded to nearest from F64.
  // Other dtypes are refused by name. The range must lie within the tensor.
  Status ReadAsFloat(const TensorEntry& tensor, uint64_t first_element, std::span<float> destination) const;

 private:
  SafetensorsReader(InputFile file, SafetensorsHeader header);

  InputFile file_;
  SafetensorsHeader header_;
  std::unordered_map<std::string_view, size_t> by_name_;  // views into header_, whose strings stay where they are
};

}  // namespace tidemill::data
