// The words of storage: an open file, a request for some of its bytes, and what became of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace tidemill::io {

// Every offset, size and buffer address is a multiple of this. Drives with 512-byte blocks take it too; a file system
// that wants more is used through the page cache instead. io/unaligned.h takes any size and address.
inline constexpr size_t kAlignmentBytes = 4096;

// Who is waiting. A demand is started before everything that is not yet started; prefetch and write-back share the
// drive by bytes.
enum class Priority : uint8_t { kDemand, kPrefetch, kWriteBack };
inline constexpr size_t kPriorities = 3;

struct IoRequest {
  enum class Op : uint8_t { kRead, kWrite };
  Op op = Op::kRead;
  uint32_t file = 0;            // as Engine::AddFile() numbered it
  uint64_t offset_bytes = 0;    // multiple of kAlignmentBytes
  std::span<std::byte> buffer;  // borrowed until the completion; address and size aligned likewise; any size
  uint64_t tag = 0;             // returned untouched in the completion
  Priority priority = Priority::kDemand;
};

struct IoCompletion {
  uint64_t tag = 0;
  // Ok means that every byte moved: short transfers are resumed, never reported. Else, naming path, offset, expected
  // and found bytes: kStorage (the drive failed), kNoSpace (disk, quota or file size limit), kCorrupt (a read met the
  // end of the file: somebody cut it).
  Status status;
};

// An open file as an engine sees it. Describes; owns nothing: the descriptor outlives the engine that uses it.
struct BlockFile {
  int fd = -1;
  std::string path;             // for messages
  uint64_t capacity_bytes = 0;  // requests beyond are refused
  bool direct = false;          // opened with O_DIRECT: bytes do not pass through the page cache
};

}  // namespace tidemill::io
