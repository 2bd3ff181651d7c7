#include "io/io_error.h"

#include <cerrno>
#include <cstring>

#include "base/disk_full.h"
#include "base/wrong_path.h"

namespace tidemill::io {
namespace {

std::string Advice(int error_number) {
  switch (error_number) {
    case ENOSPC:
      return "free space on that file system or choose another directory";
    case EDQUOT:
      return "raise the disk quota or choose another directory";
    case EFBIG:
      return "raise the file size limit (ulimit -f)";
    case EINVAL:
      return "the file system refuses this transfer; try another directory or --io-engine posix";
    default:
      return "check the drive and the kernel log (dmesg)";
  }
}

std::string Place(const BlockFile& file, uint64_t offset_bytes, uint64_t expected_bytes, uint64_t moved_bytes) {
  return "(" + file.path + " at offset " + std::to_string(offset_bytes) + ": expected " +
         std::to_string(expected_bytes) + " bytes, found " + std::to_string(moved_bytes) + ")";
}

}  // namespace

std::string DescribeErrno(int error_number) {
  const char* const name = ::strerrorname_np(error_number);
  return std::string(::strerrordesc_np(error_number) ? ::strerrordesc_np(error_number) : "unknown error") + " (" +
         (name ? name : std::to_string(error_number)) + ")";
}

Error TransferError(const BlockFile& file, IoRequest::Op op, uint64_t offset_bytes, uint64_t expected_bytes,
                    uint64_t moved_bytes, int error_number) {
  const std::string what = op == IoRequest::Op::kRead ? "read failed: " : "write failed: ";
  return {MeansDiskFull(error_number) ? ErrorCode::kNoSpace : ErrorCode::kStorage,
          what + DescribeErrno(error_number) + " " + Place(file, offset_bytes, expected_bytes, moved_bytes) + ": " +
              Advice(error_number)};
}

Error EndOfFileError(const BlockFile& file, uint64_t offset_bytes, uint64_t expected_bytes, uint64_t moved_bytes) {
  return {ErrorCode::kCorrupt, "the file ends too early " + Place(file, offset_bytes, expected_bytes, moved_bytes) +
                                   ": something outside has cut it; resume from the last checkpoint"};
}

Error FileError(std::string_view what, const std::string& path, int error_number) {
  const char* const advice = error_number == EACCES || error_number == EPERM || error_number == EROFS
                                 ? "choose a directory that you may write to"
                             : error_number == ENOENT || error_number == ENOTDIR ? "create the directory first"
                             : error_number == EMFILE || error_number == ENFILE
                                 ? "raise the descriptor limit (ulimit -n)"
                             : error_number == EEXIST ? "remove it or choose another directory"
                                                      : "check the file system and the kernel log (dmesg)";
  return {MeansWrongPath(error_number) ? ErrorCode::kInvalidArgument : ErrorCode::kIo,
          std::string(what) + ": " + DescribeErrno(error_number) + " (" + path + "): " + advice};
}

}  // namespace tidemill::io
