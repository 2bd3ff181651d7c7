#include "train/output_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace tidemill::train {

Result<OutputLock> OutputLock::Take(const std::string& directory) {
  OutputLock lock;
  lock.fd_ = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock.fd_ >= 0 && flock(lock.fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return Fail(ErrorCode::kUnavailable, "the output directory is in use by another run (" + directory +
                                             "): wait for it, or give another --output-dir");
  return lock;
}

OutputLock::~OutputLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace tidemill::train
