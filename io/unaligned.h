// Bytes of any offset, size and address, moved through an engine that takes only whole blocks.
//
// Head and tail blocks go through a small buffer: a write first reads the block, so that neighbours stay untouched.
// Waits for its own requests; for self-tests, headers and benches, not for the step loop.
//   Requires    nothing else outstanding on the engine; files with a capacity that is a multiple of kAlignmentBytes.
//   Errors      those of IoCompletion; kInvalidArgument for a range past the file's capacity.
#pragma once

#include <cstdint>
#include <span>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "io/engine.h"

namespace tidemill::io {

class UnalignedIo {
 public:
  // `bounce_bytes` is the size of the buffer between; rounded up to a block. kUnavailable without that memory.
  static Result<UnalignedIo> Make(Engine& engine, size_t bounce_bytes = 1 << 20);

  Status Read(uint32_t file, uint64_t offset_bytes, std::span<std::byte> bytes);
  Status Write(uint32_t file, uint64_t offset_bytes, std::span<const std::byte> bytes);

  // Bytes that were copied because they did not start and end on a block.
  uint64_t bounced_bytes() const { return bounced_bytes_; }

 private:
  UnalignedIo(Engine& engine, AlignedBuffer bounce) : engine_(&engine), bounce_(std::move(bounce)) {}
  Status Move(IoRequest::Op op, uint32_t file, uint64_t offset_bytes, std::span<std::byte> buffer);
  Status MoveAny(IoRequest::Op op, uint32_t file, uint64_t offset_bytes, std::span<std::byte> bytes);

  Engine* engine_;
  AlignedBuffer bounce_;
  uint64_t bounced_bytes_ = 0;
};

}  // namespace tidemill::io
