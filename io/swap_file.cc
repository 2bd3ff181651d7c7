#include "io/swap_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/byte_size.h"
#include "base/check.h"
#include "base/disk_full.h"
#include "base/needed_bytes.h"
#include "io/io_error.h"

namespace tidemill::io {
namespace {

tl::unexpected<Error> TooSmall(const std::string& path, uint64_t need_bytes, int error_number) {
  const auto free_bytes = FreeBytes(ParentDirectory(path));
  return Fail(ErrorCode::kDoesNotFit,
              "the swap file does not fit: " + DescribeErrno(error_number) + " (" + path + ": needs " +
                  FormatNeeded(need_bytes) + ", free " + (free_bytes ? FormatBytes(*free_bytes) : "unknown") + "): " +
                  (error_number == EFBIG ? "raise the file size limit (ulimit -f)"
                                         : "free space there, or give another or a further --swap-dir"));
}

// Reserves every block now, so that a write can never find the disk full.
Status Reserve(const DirectFd& opened, const std::string& path, uint64_t bytes) {
  // Asked first, since a reservation that fails may take all the space there is from others before it gives up.
  if (const auto free_bytes = FreeBytes(ParentDirectory(path)); free_bytes && *free_bytes < bytes)
    return TooSmall(path, bytes, ENOSPC);
  int result = 0;
  do {
    result = ::fallocate(opened.fd.get(), 0, 0, static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  // A file system without reservation: the size is set, and a disk that fills up is found when writing.
  if (result != 0 && errno == EOPNOTSUPP) result = ::ftruncate(opened.fd.get(), static_cast<off_t>(bytes));
  if (result == 0) return Ok();
  if (MeansDiskFull(errno)) return TooSmall(path, bytes, errno);
  return tl::make_unexpected(FileError("cannot reserve the swap file", path, errno));
}

// Some file systems take the flag when opening and refuse the transfer.
bool DirectReadWorks(const DirectFd& opened) {
  const auto block = AlignedBuffer::Allocate(kAlignmentBytes);
  return !block || ::pread(opened.fd.get(), block->data(), kAlignmentBytes, 0) >= 0 || errno != EINVAL;
}

}  // namespace

SwapFile::SwapFile(std::string path, uint64_t capacity_bytes, DirectFd opened, bool keep)
    : path_(std::move(path)), capacity_bytes_(capacity_bytes), opened_(std::move(opened)), keep_(keep) {}

Result<SwapFile> SwapFile::Create(const std::string& path, uint64_t capacity_bytes, bool want_direct) {
  const uint64_t bytes = AlignUp(capacity_bytes, kAlignmentBytes);
  struct stat existing {};
  if (::lstat(path.c_str(), &existing) == 0)
    return tl::make_unexpected(FileError("cannot create the swap file", path, EEXIST));
  TM_ASSIGN_OR_RETURN(DirectFd opened,
                      OpenDirect(path, O_RDWR | O_CREAT | O_EXCL, want_direct, "cannot create the swap file"));
  SwapFile file(path, bytes, std::move(opened), /*keep=*/false);  // removes the file when a step below fails
  if (bytes > 0) TM_RETURN_IF_ERROR(Reserve(file.opened_, path, bytes));
  if (file.direct() && !DirectReadWorks(file.opened_)) {
    TM_ASSIGN_OR_RETURN(file.opened_, OpenDirect(path, O_RDWR, false, "cannot open the swap file"));
    file.opened_.note =
        "O_DIRECT is refused (" + path + ": " + DescribeErrno(EINVAL) +
        "): going through the page cache, slower and with one more copy; use a directory on ext4 or xfs";
  }
  if (::fsync(file.opened_.fd.get()) != 0)
    return tl::make_unexpected(FileError("cannot flush the swap file", path, errno));
  TM_RETURN_IF_ERROR(SyncDirectory(ParentDirectory(path)));
  return file;
}

Result<SwapFile> SwapFile::Open(const std::string& path, uint64_t capacity_bytes, bool want_direct) {
  const uint64_t bytes = AlignUp(capacity_bytes, kAlignmentBytes);
  TM_ASSIGN_OR_RETURN(DirectFd opened, OpenDirect(path, O_RDWR, want_direct, "cannot open the swap file"));
  struct stat info {};
  if (::fstat(opened.fd.get(), &info) != 0)
    return tl::make_unexpected(FileError("cannot examine the swap file", path, errno));
  if (!S_ISREG(info.st_mode) || static_cast<uint64_t>(info.st_size) < bytes)
    return Fail(ErrorCode::kCorrupt, "the swap file is too short (" + path + ": expected " + std::to_string(bytes) +
                                         " bytes, found " + std::to_string(info.st_size) +
                                         "): something outside has cut it; resume from the last checkpoint");
  return SwapFile(path, bytes, std::move(opened), /*keep=*/true);
}

SwapFile::~SwapFile() {
  if (opened_.fd.get() < 0 || keep_) return;
  ::unlink(path_.c_str());
  (void)::ftruncate(opened_.fd.get(),
                    0);  // the kernel may hold an engine's files a while longer, their space it need not
}

SwapFile::SwapFile(SwapFile&& other) noexcept
    : path_(std::move(other.path_)),
      capacity_bytes_(other.capacity_bytes_),
      opened_(std::move(other.opened_)),
      keep_(std::exchange(other.keep_, true)) {}

SwapFile& SwapFile::operator=(SwapFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(capacity_bytes_, other.capacity_bytes_);
  std::swap(opened_, other.opened_);
  std::swap(keep_, other.keep_);
  return *this;
}

bool IsRemoved(const BlockFile& file) {
  struct stat info {};
  return ::fstat(file.fd, &info) == 0 && info.st_nlink == 0;
}

}  // namespace tidemill::io
