#include "data/output_directory.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/byte_size.h"
#include "base/disk_full.h"
#include "base/needed_bytes.h"
#include "base/wrong_path.h"

namespace tidemill::data {

Status MakeDirectory(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (!error && access(directory.c_str(), W_OK | X_OK) != 0) error = {errno, std::generic_category()};
  if (!error) return Ok();
  return Fail(
      MeansDiskFull(error.value())    ? ErrorCode::kNoSpace
      : MeansWrongPath(error.value()) ? ErrorCode::kInvalidArgument
                                      : ErrorCode::kIo,
      "cannot write into the directory '" + directory + "' (" + error.message() + "): check it and its permissions");
}

Status RequireFreeSpace(const std::string& directory, uint64_t bytes) {
  struct statvfs status {};
  if (statvfs(directory.c_str(), &status) != 0)
    return Fail(MeansWrongPath(errno) ? ErrorCode::kInvalidArgument : ErrorCode::kIo,
                "cannot measure the free space ('" + directory + "': " + std::strerror(errno) +
                    "): check the directory and its permissions");
  const uint64_t free_bytes = uint64_t{status.f_bavail} * uint64_t{status.f_frsize};
  if (free_bytes >= bytes) return Ok();
  return Fail(ErrorCode::kDoesNotFit, FormatNeeded(bytes) + " are needed and " + FormatBytes(free_bytes) +
                                          " are free ('" + directory + "'): free " + FormatNeeded(bytes - free_bytes) +
                                          " there or choose another directory");
}

}  // namespace tidemill::data
