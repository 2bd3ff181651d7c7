#include "base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/check.h"
#include "base/disk_full.h"

namespace tidemill {
namespace {

Status WriteError(const char* what, const std::string& path, int error) {
  const std::string cause = std::string("cannot ") + what + " '" + path + "' (" + std::strerror(error) + ")";
  if (MeansDiskFull(error)) return Fail(ErrorCode::kNoSpace, cause + ": free space there or choose another directory");
  return Fail(ErrorCode::kIo, cause + ": check the directory and its permissions");
}

// rename(2) is durable once the directory that holds the name is.
Status FlushDirectoryOf(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path();
  const std::string directory = parent.empty() ? "." : parent;
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return WriteError("flush", directory, errno);
  const int error = fsync(fd) == 0 ? 0 : errno;
  close(fd);
  // Some network and FUSE file systems cannot flush a directory and say EINVAL: the rename itself has been made.
  if (error != 0 && error != EINVAL) return WriteError("flush", directory, error);
  return Ok();
}

}  // namespace

Result<AtomicFile> AtomicFile::Create(std::string path, unsigned mode) {
  const std::string partial = path + ".partial";
  if (unlink(partial.c_str()) != 0 && errno != ENOENT)
    return tl::make_unexpected(WriteError("replace", partial, errno).error());
  const int fd = open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return tl::make_unexpected(WriteError("create", partial, errno).error());
  return AtomicFile(std::move(path), fd);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), fd_(std::exchange(other.fd_, -1)) {}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) close(fd_);
  if (!path_.empty()) unlink(partial().c_str());
}

Status AtomicFile::Append(std::span<const std::byte> bytes) {
  TM_CHECK(fd_ >= 0);
  while (!bytes.empty()) {
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return WriteError("write", path_, errno);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return Ok();
}

Status AtomicFile::Seal() {
  TM_CHECK(fd_ >= 0);
  const int flushed = fsync(fd_) == 0 ? 0 : errno;
  const int closed = close(std::exchange(fd_, -1)) == 0 ? 0 : errno;  // NFS reports a full disk here
  if (flushed != 0) return WriteError("flush", path_, flushed);
  if (closed != 0) return WriteError("close", path_, closed);
  return Ok();
}

Status AtomicFile::Commit() {
  TM_CHECK(!path_.empty());
  if (fd_ >= 0) TM_RETURN_IF_ERROR(Seal());
  if (rename(partial().c_str(), path_.c_str()) != 0) return WriteError("rename", path_, errno);
  return FlushDirectoryOf(std::exchange(path_, {}));
}

Status WriteFileAtomically(const std::string& path, std::string_view contents, unsigned mode) {
  TM_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path, mode));
  TM_RETURN_IF_ERROR(file.Append(contents));
  return file.Commit();
}

}  // namespace tidemill
