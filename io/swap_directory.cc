#include "io/swap_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <memory>

#include "base/disk_full.h"
#include "io/io_error.h"

namespace tidemill::io {
namespace {

constexpr std::string_view kPrefix = "tidemill-";
constexpr std::string_view kOwnerName = "tidemill-owner";
constexpr std::string_view kBenchName = "tidemill-bench.bin";
constexpr std::string_view kMagic = "tidemill swap directory 1\n";

std::string OwnerPath(const std::string& directory) { return directory + "/" + std::string(kOwnerName); }

// The identity comes last and is counted, since a path may hold any character.
std::string Encode(const SwapOwner& owner) {
  return std::string(kMagic) + std::to_string(owner.pid) + " " + std::to_string(owner.started_unix_s) + " " +
         std::to_string(owner.identity.size()) + "\n" + owner.identity + "\n";
}

std::optional<SwapOwner> Decode(std::string_view text) {
  if (!text.starts_with(kMagic)) return std::nullopt;
  text.remove_prefix(kMagic.size());
  SwapOwner owner;
  size_t identity_bytes = 0;
  const auto number = [&](auto& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end == text.data() + text.size()) return false;
    text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
    return true;
  };
  if (!number(owner.pid) || !number(owner.started_unix_s) || !number(identity_bytes)) return std::nullopt;
  if (text.size() < identity_bytes) return std::nullopt;
  owner.identity = text.substr(0, identity_bytes);
  return owner;
}

std::optional<SwapOwner> ReadRecord(int fd) {
  std::string text;
  std::array<char, 4096> part{};
  while (true) {
    const ssize_t count = ::pread(fd, part.data(), part.size(), static_cast<off_t>(text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(part.data(), static_cast<size_t>(count));
  }
  return Decode(text);
}

// Overwrites in place and in one call: a process that dies here leaves the old record or the new one.
Status WriteRecord(int fd, const std::string& path, const SwapOwner& owner) {
  const std::string text = Encode(owner);
  const ssize_t count = ::pwrite(fd, text.data(), text.size(), 0);
  if (count == static_cast<ssize_t>(text.size()) && ::ftruncate(fd, count) == 0 && ::fsync(fd) == 0) return Ok();
  const int error = count < 0 ? errno : ENOSPC;
  if (MeansDiskFull(error))
    return Fail(ErrorCode::kDoesNotFit, "the swap directory is full: " + DescribeErrno(error) + " (" + path +
                                            "): free space there, or give another --swap-dir");
  return tl::make_unexpected(FileError("cannot record the run in its swap directory", path, error));
}

// Our regular files, sorted; not the record.
Result<std::vector<std::string>> ListFiles(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(directory.c_str()), ::closedir);
  if (!stream) return tl::make_unexpected(FileError("cannot list the swap directory", directory, errno));
  std::vector<std::string> names;
  while (const dirent* const entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(kPrefix) || name == kOwnerName || name == kBenchName) continue;
    struct stat info {};
    if (::fstatat(::dirfd(stream.get()), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode))
      names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string Describe(const std::optional<SwapOwner>& owner) {
  if (!owner) return "an unknown run";
  std::tm parts{};
  const auto started = static_cast<std::time_t>(owner->started_unix_s);
  std::array<char, 32> when{};
  ::localtime_r(&started, &parts);
  std::strftime(when.data(), when.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return "run " + owner->identity + ", pid " + std::to_string(owner->pid) + ", started " + when.data();
}

tl::unexpected<Error> InUse(const std::string& directory, const std::optional<SwapOwner>& owner) {
  if (owner && owner->pid == ::getpid())
    return Fail(ErrorCode::kInvalidArgument,
                "this run has the swap directory already (" + directory + "): give each --swap-dir once");
  return Fail(ErrorCode::kUnavailable, "the swap directory is in use by another run (" + directory + ": " +
                                           Describe(owner) + "): wait for it, or choose another directory");
}

// What errno says after the record at `fd` could not be locked.
tl::unexpected<Error> CannotLock(int fd, const std::string& directory) {
  if (errno == EWOULDBLOCK) return InUse(directory, ReadRecord(fd));
  return Fail(ErrorCode::kUnavailable, "the file system cannot lock files: " + DescribeErrno(errno) + " (" +
                                           OwnerPath(directory) + "): choose a swap directory on a local drive");
}

// The locked record file. A run that finishes removes the file: whoever locked the removed one tries again.
Result<UniqueFd> Lock(const std::string& directory) {
  const std::string path = OwnerPath(directory);
  while (true) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (fd.get() < 0) return tl::make_unexpected(FileError("cannot claim the swap directory", directory, errno));
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      return CannotLock(fd.get(), directory);
    }
    struct stat locked {
    }, named{};
    if (::fstat(fd.get(), &locked) == 0 && ::stat(path.c_str(), &named) == 0 && locked.st_ino == named.st_ino &&
        locked.st_dev == named.st_dev)
      return fd;
  }
}

}  // namespace

Result<std::optional<SwapOwner>> ReadSwapOwner(const std::string& directory) {
  const UniqueFd fd(::open(OwnerPath(directory).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (fd.get() < 0 && errno == ENOENT) return std::optional<SwapOwner>();
  if (fd.get() < 0) return tl::make_unexpected(FileError("cannot read the swap directory's owner", directory, errno));
  auto owner = ReadRecord(fd.get());
  if (owner) owner->alive = ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  return owner;
}

Result<UniqueFd> LockForReading(const std::string& directory) {
  UniqueFd fd(::open(OwnerPath(directory).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (fd.get() < 0 && errno == ENOENT) return fd;
  if (fd.get() < 0) return tl::make_unexpected(FileError("cannot read the swap directory's owner", directory, errno));
  while (::flock(fd.get(), LOCK_SH | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    return CannotLock(fd.get(), directory);
  }
  return fd;
}

Result<SwapDirectory> SwapDirectory::Claim(const std::string& directory, const std::string& identity,
                                           LeftoverPolicy policy) {
  TM_ASSIGN_OR_RETURN(UniqueFd lock, Lock(directory));
  SwapDirectory claimed(directory, std::move(lock));
  TM_ASSIGN_OR_RETURN(claimed.leftovers_, ListFiles(directory));
  const auto owner = ReadRecord(claimed.lock_.get());
  if (!claimed.leftovers_.empty() && (!owner || owner->identity != identity)) {
    if (policy == LeftoverPolicy::kRefuse)
      return Fail(ErrorCode::kUnavailable, "the swap directory holds " + std::to_string(claimed.leftovers_.size()) +
                                               " files of another run that is not running (" + directory + ": " +
                                               Describe(owner) +
                                               "): resume that run, or pass --swap-leftovers reclaim to delete them");
    TM_RETURN_IF_ERROR(claimed.RemoveFiles());
  }
  const SwapOwner us{identity, ::getpid(), static_cast<int64_t>(std::time(nullptr)), true};
  if (Status status = WriteRecord(claimed.lock_.get(), OwnerPath(directory), us); !status) {
    if (!owner) ::unlink(OwnerPath(directory).c_str());
    return tl::make_unexpected(std::move(status.error()));
  }
  TM_RETURN_IF_ERROR(SyncDirectory(directory));
  return claimed;
}

std::string SwapDirectory::FilePath(std::string_view name) const {
  return directory_ + "/" + std::string(kPrefix) + std::string(name);
}

Status SwapDirectory::RemoveFiles() {
  TM_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFiles(directory_));
  for (const std::string& name : names) {
    const std::string path = directory_ + "/" + name;
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
      return tl::make_unexpected(FileError("cannot remove a swap file", path, errno));
  }
  leftovers_.clear();
  return SyncDirectory(directory_);
}

Status SwapDirectory::Finish() {
  TM_RETURN_IF_ERROR(RemoveFiles());
  const std::string path = OwnerPath(directory_);
  if (::unlink(path.c_str()) != 0)
    return tl::make_unexpected(FileError("cannot remove the swap directory's record", path, errno));
  lock_ = UniqueFd();
  return SyncDirectory(directory_);
}

}  // namespace tidemill::io
