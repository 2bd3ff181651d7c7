// The one file that `bench io` and `tune` use in a directory: DIR/tidemill-bench.bin.
//
// A file that was there is used as it is and kept (grown for the time being if it is too small). Else one is made, and
// its name removed at once: whatever ends the process, Ctrl-C or kill -9, the space comes back.
//
//   Ownership   owns the descriptor; gives a grown file its old size back when destroyed.
//   Contents    a made file is written in full with a pattern that no drive can compress; so is one that was there
//               once WritePattern() is called.
//   Threads     one at a time; the pattern functions: any.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "io/block_file.h"
#include "io/file_ops.h"

namespace tidemill::io {

// Asked now and then; true ends the work with kInterrupted.
using StopQuestion = std::function<bool()>;

class BenchFile {
 public:
  // `size_bytes` is a multiple of kAlignmentBytes. kDoesNotFit, naming need and free space; kIo; kInterrupted.
  static Result<BenchFile> Open(const std::string& directory, uint64_t size_bytes, bool want_direct,
                                const StopQuestion& stop);
  ~BenchFile();
  BenchFile(BenchFile&& other) noexcept;
  BenchFile& operator=(BenchFile&&) = delete;

  BlockFile block_file() const { return {opened_.fd.get(), path_, size_bytes_, opened_.direct}; }
  const std::string& path() const { return path_; }
  uint64_t size_bytes() const { return size_bytes_; }
  bool direct() const { return opened_.direct; }
  const std::string& note() const { return opened_.note; }  // why not direct; else empty
  bool has_pattern() const { return has_pattern_; }

  // Writes the pattern to every byte, and flushes.
  Status WritePattern(const StopQuestion& stop);
  // Reads every byte of [begin, end). kCorrupt, naming the first wrong byte.
  Status CheckPattern(uint64_t begin, uint64_t end, const StopQuestion& stop) const;

 private:
  BenchFile(std::string path, uint64_t size_bytes, DirectFd opened)
      : path_(std::move(path)), size_bytes_(size_bytes), opened_(std::move(opened)) {}

  std::string path_;
  uint64_t size_bytes_ = 0;
  DirectFd opened_;
  std::optional<uint64_t> old_size_bytes_;  // of a file that was grown
  bool has_pattern_ = false;
};

// What the file holds at `offset_bytes`; both multiples of 8.
void MakePattern(uint64_t offset_bytes, std::span<std::byte> bytes);
// Ok, or kCorrupt naming `file`, the first wrong offset, expected and found.
Status CheckPatternBytes(const BlockFile& file, uint64_t offset_bytes, std::span<const std::byte> bytes);

}  // namespace tidemill::io
