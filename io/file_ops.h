// The few steps that every file on a disk needs: an owned descriptor, O_DIRECT or not, a durable directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"

namespace tidemill::io {

// Closes its descriptor.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  ~UniqueFd();
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

struct DirectFd {
  UniqueFd fd;
  bool direct = false;
  std::string note;  // why not direct; empty when it is, or was not wanted
};

// Opens `path` with `flags`, and O_DIRECT where `want_direct` and the file system takes it with kAlignmentBytes.
// kIo where it cannot be opened at all; `what` begins that message ("cannot create the swap file").
Result<DirectFd> OpenDirect(const std::string& path, int flags, bool want_direct, std::string_view what);

// Makes entries that were created, renamed or removed in `directory` durable.
Status SyncDirectory(const std::string& directory);

// What is free to an unprivileged process on the directory's file system; nothing where it does not say.
std::optional<uint64_t> FreeBytes(const std::string& directory);

// "/a/b" of "/a/b/c"; "." of "c".
std::string ParentDirectory(const std::string& path);

}  // namespace tidemill::io
