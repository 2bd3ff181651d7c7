#include "data/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/byte_size.h"
#include "base/wrong_path.h"

namespace tidemill::data {

Result<InputFile> InputFile::Open(std::string path) {
  // Without O_NONBLOCK, opening a pipe would wait for a writer before it could be refused.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return Fail(MeansWrongPath(errno) ? ErrorCode::kInvalidArgument : ErrorCode::kIo,
                "cannot open '" + path + "' (" + std::strerror(errno) + "): check the path and its permissions");
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(fd);
    return Fail(ErrorCode::kInvalidArgument, "'" + path + "' is not a regular file: give a file");
  }
  return InputFile(std::move(path), fd, static_cast<uint64_t>(status.st_size));
}

InputFile::~InputFile() {
  if (fd_ >= 0) close(fd_);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), bytes_(other.bytes_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Status InputFile::ReadAt(uint64_t offset_bytes, std::span<std::byte> destination) const {
  while (!destination.empty()) {
    const ssize_t moved = pread(fd_, destination.data(), destination.size(), static_cast<off_t>(offset_bytes));
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0)
      return Fail(ErrorCode::kIo, "cannot read '" + path_ + "' (" + std::strerror(errno) + "): check the disk");
    if (moved == 0)
      return Fail(ErrorCode::kInvalidArgument, "'" + path_ + "' ends at byte " + std::to_string(offset_bytes) +
                                                   " with " + std::to_string(destination.size()) +
                                                   " bytes missing (file truncated): fetch it again");
    destination = destination.subspan(static_cast<size_t>(moved));
    offset_bytes += static_cast<uint64_t>(moved);
  }
  return Ok();
}

bool FileIsThere(const std::string& path) {
  return access(path.c_str(), F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

Result<std::string> ReadTextFile(const std::string& path, uint64_t limit_bytes) {
  TM_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  if (file.bytes() > limit_bytes)
    return Fail(ErrorCode::kInvalidArgument, "'" + path + "' has " + FormatBytes(file.bytes()) + " (limit " +
                                                 FormatBytes(limit_bytes) + "): this is not the file it should be");
  std::string text(file.bytes(), '\0');
  TM_RETURN_IF_ERROR(file.ReadAt(0, std::as_writable_bytes(std::span(text))));
  return text;
}

}  // namespace tidemill::data
