// Writes one safetensors file as a stream: every tensor is declared first, then their bytes follow in that order.
//
//   Ownership   owns PATH.partial until Commit(); destroyed without it, the old file at PATH stays, and nothing else.
//   Threads     one thread at a time.
//   Durability  as AtomicFile: after Commit() the file is on the disk, whole.
//   Errors      kNoSpace for a full disk, kIo for a failing one, kInvalidArgument for a value that fp16 cannot hold;
//               the message names path and tensor.
//   Limits      memory is the header's text and 64 KiB of stack; a tensor is never held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "data/safetensors_header.h"

namespace tidemill::data {

class SafetensorsWriter {
 public:
  // Writes the header, with __metadata__ {"format":"pt"} and `extra` after it.
  static Result<SafetensorsWriter> Create(const std::string& path, std::vector<TensorSpec> tensors,
                                          const Metadata& extra = {});

  // The next bytes of the tensor that the stream is at, as they are. More than it still takes is a caller bug.
  Status Append(std::span<const std::byte> bytes);
  // The next elements, rounded to the tensor's dtype: nearest even for BF16 and F16, exact for F32.
  Status AppendFloats(std::span<const float> values);

  // The tensor that the next byte belongs to, nullptr once all are complete.
  const TensorSpec* current() const { return at_ < tensors_.size() ? &tensors_[at_] : nullptr; }

  // Both demand that every tensor is complete. Seal() flushes under the temporary name, Commit() makes the file
  // visible.
  Status Seal();
  Status Commit();

 private:
  SafetensorsWriter(AtomicFile file, std::vector<TensorSpec> tensors);
  void SkipComplete();

  AtomicFile file_;
  std::vector<TensorSpec> tensors_;
  size_t at_ = 0;
  uint64_t left_bytes_ = 0;  // of tensors_[at_]
};

}  // namespace tidemill::data
