// A directory that belongs to one run: who owns it, what a dead run left there, and cleaning up.
//
// The owner is recorded in DIR/tidemill-owner, which is locked (flock) for as long as the run lives: the kernel drops
// the lock with the process, however that ends. A run is identified by a string that its resumption has too: the
// canonical path of its output directory.
//
//   Ownership   files named tidemill-* in the directory, and no others, ever; not tidemill-bench.bin, which `bench io`
//               and its user share. Links and directories of such names are left alone.
//   Durability  the record is durable before Claim() returns.
//   Threads     one at a time.
//   Limits      the directory exists already: a mount point that is missing must not fill the disk below it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/file_ops.h"

namespace tidemill::io {

enum class LeftoverPolicy { kRefuse, kReclaim };

struct SwapOwner {
  std::string identity;
  int64_t pid = 0;
  int64_t started_unix_s = 0;
  bool alive = false;  // holds the lock now
};

// Whose the directory is; nothing when nobody has claimed it. Changes nothing.
Result<std::optional<SwapOwner>> ReadSwapOwner(const std::string& directory);

// Keeps every run out while what a dead one left is read, for as long as the descriptor lives. kUnavailable when a
// live run has the directory. Where nobody is on record there is nothing to lock: no descriptor.
Result<UniqueFd> LockForReading(const std::string& directory);

class SwapDirectory {
 public:
  // Claims the directory. Leftovers of a dead run with the same identity stay, and are listed; those of another are
  // refused or removed, as the policy says. kUnavailable: in use by a live run, or holding another run's files (both
  // say whose); kInvalidArgument: no such directory, or not writable.
  static Result<SwapDirectory> Claim(const std::string& directory, const std::string& identity, LeftoverPolicy policy);

  // Drops the lock and leaves the files. Finish() is the other end.
  ~SwapDirectory() = default;
  SwapDirectory(SwapDirectory&&) = default;
  SwapDirectory& operator=(SwapDirectory&&) = default;

  const std::string& path() const { return directory_; }
  // Names of this identity's files that were there already, sorted.
  const std::vector<std::string>& leftovers() const { return leftovers_; }
  // DIR/tidemill-NAME.
  std::string FilePath(std::string_view name) const;

  // Removes every file of ours, so that a resumed run starts with none.
  Status RemoveFiles();
  // The run is over: removes every file of ours and the record, and drops the lock.
  Status Finish();

 private:
  SwapDirectory(std::string directory, UniqueFd lock) : directory_(std::move(directory)), lock_(std::move(lock)) {}

  std::string directory_;
  UniqueFd lock_;
  std::vector<std::string> leftovers_;
};

}  // namespace tidemill::io
