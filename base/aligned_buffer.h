// Zeroed host memory that starts on a 4096-byte boundary, as O_DIRECT and registration want it.
//
//   Ownership   the buffer owns its bytes; moving it moves them, spans of it stay valid.
//   Limits      the bytes are mapped on first touch: resident memory grows only with what is used.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"

namespace tidemill {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // kUnavailable when the machine does not give that much memory.
  static Result<AlignedBuffer> Allocate(size_t bytes);
  ~AlignedBuffer();
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::span<std::byte> span() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tidemill
