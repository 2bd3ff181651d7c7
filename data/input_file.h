// A regular file opened for reading at given offsets.
//
//   Ownership   owns its descriptor; spans stay the caller's.
//   Threads     every const method may be called from many threads at once: pread(2) has no position.
//   Errors      kInvalidArgument when there is no such regular file, this user may not read it, or it ends early; kIo
//               when reading fails; both name the path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace tidemill::data {

class InputFile {
 public:
  static Result<InputFile> Open(std::string path);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;

  // Fills the whole span from `offset_bytes`. Signals and short reads are resumed.
  Status ReadAt(uint64_t offset_bytes, std::span<std::byte> destination) const;

  // The length when it was opened.
  uint64_t bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

 private:
  InputFile(std::string path, int fd, uint64_t bytes) : path_(std::move(path)), fd_(fd), bytes_(bytes) {}

  std::string path_;
  int fd_ = -1;
  uint64_t bytes_ = 0;
};

// Whether a file that may be missing is there. One that is there and cannot be opened counts: opening it says why.
bool FileIsThere(const std::string& path);

// The whole of a small text file; longer than `limit_bytes` is refused.
Result<std::string> ReadTextFile(const std::string& path, uint64_t limit_bytes);

}  // namespace tidemill::data
