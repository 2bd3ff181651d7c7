// One run at a time writes into an output folder.
//
//   Ownership   holds the folder from Take() until it is destroyed, or until the process ends however it ends; leaves
//   no
//               file behind.
//   Errors      kUnavailable when another run holds it. A file system without locks (some network ones) holds nobody
//               back.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace tidemill::train {

class OutputLock {
 public:
  OutputLock() = default;
  static Result<OutputLock> Take(const std::string& directory);
  ~OutputLock();
  OutputLock(OutputLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OutputLock& operator=(OutputLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

 private:
  int fd_ = -1;
};

}  // namespace tidemill::train
