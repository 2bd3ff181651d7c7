#include "io/unaligned.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"

namespace tidemill::io {

Result<UnalignedIo> UnalignedIo::Make(Engine& engine, size_t bounce_bytes) {
  TM_ASSIGN_OR_RETURN(AlignedBuffer bounce,
                      AlignedBuffer::Allocate(AlignUp(std::max<size_t>(bounce_bytes, 1), kAlignmentBytes)));
  return UnalignedIo(engine, std::move(bounce));
}

Status UnalignedIo::Read(uint32_t file, uint64_t offset_bytes, std::span<std::byte> bytes) {
  return MoveAny(IoRequest::Op::kRead, file, offset_bytes, bytes);
}

Status UnalignedIo::Write(uint32_t file, uint64_t offset_bytes, std::span<const std::byte> bytes) {
  // A write does not change its bytes; requests carry one type of buffer for both directions.
  return MoveAny(IoRequest::Op::kWrite, file, offset_bytes, {const_cast<std::byte*>(bytes.data()), bytes.size()});
}

Status UnalignedIo::MoveAny(IoRequest::Op op, uint32_t file, uint64_t offset_bytes, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const uint64_t into = offset_bytes % kAlignmentBytes;
    const bool aligned = into == 0 && reinterpret_cast<uintptr_t>(bytes.data()) % kAlignmentBytes == 0;
    size_t count = bytes.size() / kAlignmentBytes * kAlignmentBytes;
    if (aligned && count > 0) {
      TM_RETURN_IF_ERROR(Move(op, file, offset_bytes, bytes.first(count)));
    } else {
      count = std::min<size_t>(bytes.size(), bounce_.size() - into);
      const uint64_t begin = offset_bytes - into, end = AlignUp(offset_bytes + count, kAlignmentBytes);
      const auto blocks = bounce_.span().first(end - begin);
      const bool whole = into == 0 && count == blocks.size();
      if (op == IoRequest::Op::kRead || !whole) TM_RETURN_IF_ERROR(Move(IoRequest::Op::kRead, file, begin, blocks));
      if (op == IoRequest::Op::kRead) {
        std::memcpy(bytes.data(), blocks.data() + into, count);
      } else {
        std::memcpy(blocks.data() + into, bytes.data(), count);
        TM_RETURN_IF_ERROR(Move(op, file, begin, blocks));
      }
      bounced_bytes_ += count;
    }
    offset_bytes += count;
    bytes = bytes.subspan(count);
  }
  return Ok();
}

Status UnalignedIo::Move(IoRequest::Op op, uint32_t file, uint64_t offset_bytes, std::span<std::byte> buffer) {
  TM_CHECK(engine_->outstanding() == 0);
  const IoRequest request{.op = op, .file = file, .offset_bytes = offset_bytes, .buffer = buffer};
  TM_RETURN_IF_ERROR(engine_->Submit({&request, 1}));
  std::array<IoCompletion, 1> done;
  for (size_t count = 0; count == 0;) {  // a wake may come between
    TM_ASSIGN_OR_RETURN(count, engine_->Reap(done, 1));
  }
  return done[0].status;
}

}  // namespace tidemill::io
