// Token ids on disk, written once from front to back, then read anywhere: how a text larger than memory is kept
// tokenized for the length of a run.
//
//   Ownership  owns a file without a name, which is gone with the object or the process.
//   Threads    Append() one thread at a time; Read() any number, after the last Append().
//   Errors     kIo or kNoSpace, naming the directory.
//   Limits     4 bytes of disk a token.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace tidemill::data {

class TokenSpool {
 public:
  // `directory` must exist; empty means the system's for temporary files.
  static Result<TokenSpool> Create(const std::filesystem::path& directory);
  ~TokenSpool();
  TokenSpool(TokenSpool&& other) noexcept;
  TokenSpool& operator=(TokenSpool&&) = delete;

  Status Append(std::span<const int32_t> ids);
  Status Read(uint64_t first, std::span<int32_t> ids) const;

  uint64_t size() const { return size_; }

 private:
  TokenSpool(std::string directory, int fd) : directory_(std::move(directory)), fd_(fd) {}
  tl::unexpected<Error> Failed(const char* what, int error) const;

  std::string directory_;
  int fd_;
  uint64_t size_ = 0;  // ids
};

}  // namespace tidemill::data
