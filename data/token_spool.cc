#include "data/token_spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/disk_full.h"

namespace tidemill::data {

tl::unexpected<Error> TokenSpool::Failed(const char* what, int error) const {
  return Fail(MeansDiskFull(error) ? ErrorCode::kNoSpace : ErrorCode::kIo,
              std::string("cannot ") + what + " the token ids of a text, " + std::strerror(error) + " (" + directory_ +
                  "): free space there, or set TMPDIR");
}

Result<TokenSpool> TokenSpool::Create(const std::filesystem::path& directory) {
  std::error_code error;
  const std::filesystem::path folder = directory.empty() ? std::filesystem::temp_directory_path(error) : directory;
  std::string name = (folder / "tidemill-tokens-XXXXXX").string();
  const int fd = mkstemp(name.data());
  const int reason = errno;
  TokenSpool spool(folder.string(), fd);
  if (fd < 0) return spool.Failed("keep", reason);
  unlink(name.c_str());
  fcntl(spool.fd_, F_SETFD, FD_CLOEXEC);
  return spool;
}

TokenSpool::TokenSpool(TokenSpool&& other) noexcept
    : directory_(std::move(other.directory_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

TokenSpool::~TokenSpool() {
  if (fd_ >= 0) close(fd_);
}

Status TokenSpool::Append(std::span<const int32_t> ids) {
  auto left = std::as_bytes(ids);
  while (!left.empty()) {
    const ssize_t written = write(fd_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed("write", errno);
    left = left.subspan(static_cast<size_t>(written));
  }
  size_ += ids.size();
  return Ok();
}

Status TokenSpool::Read(uint64_t first, std::span<int32_t> ids) const {
  TM_CHECK(first + ids.size() <= size_);
  auto left = std::as_writable_bytes(ids);
  auto offset = static_cast<off_t>(first * sizeof(int32_t));
  while (!left.empty()) {
    const ssize_t got = pread(fd_, left.data(), left.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Failed("read", got < 0 ? errno : EIO);
    left = left.subspan(static_cast<size_t>(got));
    offset += got;
  }
  return Ok();
}

}  // namespace tidemill::data
