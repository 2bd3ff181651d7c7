// A file that is either the old one or the whole new one, whatever happens in between: bytes go to PATH.partial beside
// it, reach the disk, and take the name by rename(2); the directory is flushed last.
//
//   Ownership   the object owns PATH.partial until Commit(). Destroyed without it, it removes that file; what a killed
//               process left there is replaced by the next write of the same path.
//   Threads     one thread at a time; two writers of one path are a caller bug.
//   Durability  after Commit() returned Ok the new contents survive a power cut.
//   Errors      kNoSpace when the disk, a quota or the file size limit is full, kIo otherwise; both name the path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemill {

class AtomicFile {
 public:
  // Starts writing; the file at `path` stays as it is. The directory must exist.
  static Result<AtomicFile> Create(std::string path, unsigned mode = 0666);
  ~AtomicFile();
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;

  // Short writes and signals are resumed.
  Status Append(std::span<const std::byte> bytes);
  Status Append(std::string_view text) { return Append(std::as_bytes(std::span(text))); }

  // Flushes and closes PATH.partial without taking the name yet: many files can be sealed, then committed together.
  Status Seal();
  // Seals if need be, renames, flushes the directory.
  Status Commit();

  const std::string& path() const { return path_; }

 private:
  AtomicFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::string partial() const { return path_ + ".partial"; }

  std::string path_;  // empty once committed or moved from
  int fd_ = -1;
};

// The whole of a small file at once: configuration, index, trainer state.
Status WriteFileAtomically(const std::string& path, std::string_view contents, unsigned mode = 0666);

}  // namespace tidemill
