// What this process may use of the machine: cores, memory, locked memory, as the kernel and its containers say.
//
//   Threads   plain values.
//   Limits    a snapshot: other processes go on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tidemill::train {

struct Machine {
  std::string kernel;  // "6.1.0-18-amd64"
  bool wsl = false;    // Windows Subsystem for Linux: little memory can be pinned there

  int64_t cores_online = 1;
  int64_t cores_usable = 1;  // within the affinity mask and the container's quota

  uint64_t memory_total_bytes = 0;
  uint64_t memory_available_bytes = 0;           // MemAvailable
  std::optional<uint64_t> container_left_bytes;  // of the tightest memory limit around this process; nothing: no limit
  std::optional<uint64_t> address_space_left_bytes;  // below `ulimit -v`; nothing: unlimited
  std::optional<uint64_t> memlock_bytes;             // what may be locked; nothing: unlimited
  bool may_exceed_memlock = false;                   // CAP_IPC_LOCK

  // What can still be allocated without swapping, being killed or being refused.
  uint64_t usable_memory_bytes() const;
};

// `root` is put in front of /proc and /sys: tests describe a machine in a folder.
Machine DescribeMachine(const std::string& root = "");

}  // namespace tidemill::train
