// What a swap directory and this machine allow, before anything depends on it: for `info` and for train's preflight.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tidemill::io {

struct DirectoryReport {
  std::string path = {};         // canonical
  std::string file_system = {};  // as the kernel calls it: "ext4", "xfs", "nfs4"; "unknown" without /proc
  std::string device = {};       // what is mounted there: "/dev/nvme0n1p2"
  uint64_t free_bytes = 0, total_bytes = 0;
  bool direct = false;                   // O_DIRECT works with 4096-byte blocks
  uint32_t direct_memory_alignment = 0;  // what the kernel states for it; 0: it does not say
  uint32_t direct_offset_alignment = 0;
  std::string direct_note = {};             // why not direct; else empty
  std::optional<bool> rotational = {};      // as the drive says; nothing: not a drive of this machine
  bool network = false, in_memory = false;  // by the kind of file system
  double probe_seconds = 0;                 // 4 MiB written and flushed

  // A line for each thing that will make swapping slow or impossible.
  std::vector<std::string> Warnings() const;
};

// Writes and flushes 4 MiB in a file without a name that lasts, and reads it back. kInvalidArgument: no such
// directory, not writable; kNoSpace, kStorage, kCorrupt: the write, the flush or the bytes failed.
Result<DirectoryReport> ProbeDirectory(const std::string& directory);

struct MachineReport {
  std::optional<uint64_t> memlock_bytes;  // nothing: no limit
  std::string io_uring_refusal;           // why not; empty where it works
  std::string libaio_refusal;
};

// Opens and closes one of each engine.
MachineReport ProbeEngines();

}  // namespace tidemill::io
