// Which errors of the kernel mean that a file cannot grow, whatever the drive could do.
#pragma once

#include <cerrno>

namespace tidemill {

// The disk, a quota or the file size limit is full: kNoSpace, or kDoesNotFit before the first step.
inline bool MeansDiskFull(int error_number) {
  return error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
}

}  // namespace tidemill
