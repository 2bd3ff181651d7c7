// One large file with its space reserved, for pages of model state.
//
//   Ownership   owns the descriptor; unless told to Keep(), removes the file when destroyed. An engine that uses it is
//               destroyed first: the space returns only when nothing holds the file open.
//   Threads     any, one at a time.
//   Durability  the file and its size are durable when Create() returns; its bytes after Engine::Flush().
//   Limits      the capacity is fixed, rounded up to kAlignmentBytes. Fresh bytes read as zero.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "io/block_file.h"
#include "io/file_ops.h"

namespace tidemill::io {

class SwapFile {
 public:
  // Makes a new file. kDoesNotFit, naming need and free space, when the disk, quota or file size limit is too small
  // (nothing is left behind); kIo when it exists already or cannot be made.
  static Result<SwapFile> Create(const std::string& path, uint64_t capacity_bytes, bool want_direct = true);

  // Opens one that a former run kept. kCorrupt, naming expected and found size, when it is shorter than
  // `capacity_bytes`; kIo when it cannot be opened. It is kept again unless RemoveAtEnd() is called.
  static Result<SwapFile> Open(const std::string& path, uint64_t capacity_bytes, bool want_direct = true);

  ~SwapFile();
  SwapFile(SwapFile&& other) noexcept;
  SwapFile& operator=(SwapFile&& other) noexcept;

  // What an engine needs to know; valid while this lives.
  BlockFile block_file() const { return {opened_.fd.get(), path_, capacity_bytes_, opened_.direct}; }
  const std::string& path() const { return path_; }
  uint64_t capacity_bytes() const { return capacity_bytes_; }
  bool direct() const { return opened_.direct; }
  const std::string& note() const { return opened_.note; }  // why not direct; else empty

  void Keep() { keep_ = true; }
  void RemoveAtEnd() { keep_ = false; }

 private:
  SwapFile(std::string path, uint64_t capacity_bytes, DirectFd opened, bool keep);

  std::string path_;
  uint64_t capacity_bytes_ = 0;
  DirectFd opened_;
  bool keep_ = true;
};

// Somebody has removed the file, or put another in its place: what it holds is lost with this process.
bool IsRemoved(const BlockFile& file);

}  // namespace tidemill::io
