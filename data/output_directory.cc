#include "data/output_directory.h"

#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/byte_size.h"
#include "base/disk_full.h"
#include "base/needed_bytes.h"

namespace tidemill::data {

Status MakeDirectory(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (!error) return Ok();
  return Fail(
      MeansDiskFull(error.value()) ? ErrorCode::kNoSpace : ErrorCode::kIo,
      "cannot make the directory '" + directory + "' (" + error.message() + "): check its parent and permissions");
}

Status RequireFreeSpace(const std::string& directory, uint64_t bytes) {
  struct statvfs status {};
  if (statvfs(directory.c_str(), &status) != 0)
    return Fail(ErrorCode::kIo, "cannot measure the free space ('" + directory + "': " + std::strerror(errno) +
                                    "): check the directory and its permissions");
  const uint64_t free_bytes = uint64_t{status.f_bavail} * uint64_t{status.f_frsize};
  if (free_bytes >= bytes) return Ok();
  return Fail(ErrorCode::kDoesNotFit, FormatNeeded(bytes) + " are needed and " + FormatBytes(free_bytes) +
                                          " are free ('" + directory + "'): free " + FormatNeeded(bytes - free_bytes) +
                                          " there or choose another directory");
}

}  // namespace tidemill::data
