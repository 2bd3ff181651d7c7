#include "io/file_ops.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include "io/block_file.h"
#include "io/io_error.h"

namespace tidemill::io {
namespace {

// The file system may take the flag and still want larger blocks than ours, or have no direct I/O for this file.
bool TakesOurAlignment(int fd) {
#ifdef STATX_DIOALIGN
  struct statx info {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &info) == 0 && (info.stx_mask & STATX_DIOALIGN) != 0)
    return info.stx_dio_mem_align != 0 && info.stx_dio_mem_align <= kAlignmentBytes &&
           info.stx_dio_offset_align <= kAlignmentBytes;
#endif
  return fd >= 0;  // older kernels do not say: the first transfer will
}

}  // namespace

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) ::close(fd_);
}

Result<DirectFd> OpenDirect(const std::string& path, int flags, bool want_direct, std::string_view what) {
  constexpr mode_t kMode = 0600;
  DirectFd opened;
  std::string refusal;
  if (want_direct) {
    opened.fd = UniqueFd(::open(path.c_str(), flags | O_CLOEXEC | O_DIRECT, kMode));
    if (opened.fd.get() < 0 && errno != EINVAL) return tl::make_unexpected(FileError(what, path, errno));
    opened.direct = opened.fd.get() >= 0 && TakesOurAlignment(opened.fd.get());
    if (opened.direct) return opened;
    refusal = opened.fd.get() < 0 ? DescribeErrno(EINVAL) : "it wants larger blocks than 4096 bytes";
    opened.note = "O_DIRECT is refused (" + path + ": " + refusal +
                  "): going through the page cache, slower and with one more copy; use a directory on ext4 or xfs";
    // The refused attempt may have made the file already.
    flags &= ~O_EXCL;
  }
  opened.fd = UniqueFd(::open(path.c_str(), flags | O_CLOEXEC, kMode));
  if (opened.fd.get() < 0) return tl::make_unexpected(FileError(what, path, errno));
  return opened;
}

Status SyncDirectory(const std::string& directory) {
  const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return tl::make_unexpected(FileError("cannot open the directory", directory, errno));
  // Some file systems have nothing to flush for a directory and say EINVAL.
  if (::fsync(fd.get()) == 0 || errno == EINVAL) return Ok();
  return tl::make_unexpected(FileError("cannot flush the directory", directory, errno));
}

std::optional<uint64_t> FreeBytes(const std::string& directory) {
  struct statvfs info {};
  if (::statvfs(directory.c_str(), &info) != 0) return std::nullopt;
  return static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
}

std::string ParentDirectory(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace tidemill::io
