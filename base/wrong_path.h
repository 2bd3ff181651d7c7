// Which errors of the kernel mean that a path is wrong: another has to be given, or its permissions changed.
#pragma once

#include <cerrno>

namespace tidemill {

// There is no such file or directory, or this user may not use it: kInvalidArgument, as for a wrong flag. No drive has
// failed.
inline bool MeansWrongPath(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EACCES:
    case EPERM:
    case EROFS:
      return true;
    default:
      return false;
  }
}

}  // namespace tidemill
