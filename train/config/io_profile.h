// profile.json: what `tune` measured on a machine, and `plan` and `train` believe. Its keys: docs/USER_GUIDE.md.
//
// A rate that is absent was not measured. Rates are of one machine and one set of directories, so a run's swap
// directories must all be in it; what else it has is not used.
//
//   Errors   kInvalidArgument, naming the file and the key: not JSON, another version, an unknown key, a wrong type, a
//            rate that is not positive.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tidemill::train {

struct IoProfile {
  static constexpr int64_t kVersion = 1;

  struct SwapDir {
    std::string path;                   // canonical when tune wrote it
    std::optional<std::string> engine;  // as io::ParseEngineChoice takes it
    std::optional<uint64_t> bs_bytes, iodepth, numjobs;
    std::optional<double> read_bytes_per_s, write_bytes_per_s;              // alone, one direction at a time
    std::optional<double> mixed_read_bytes_per_s, mixed_write_bytes_per_s;  // while all of them read and write
    std::optional<double> latency_us;                                       // of a block that is read, alone
  };

  std::optional<std::string> host, device;
  std::vector<SwapDir> swap_dirs;
  std::optional<double> upload_bytes_per_s, download_bytes_per_s, duplex_bytes_per_s, dram_bytes_per_s;
  std::map<std::string, double> adam;     // ns for each parameter, by the encoding of its state
  std::map<std::string, double> compute;  // FLOP/s by kind of operation
  std::optional<uint64_t> cores;
  std::optional<std::string> measured_at;  // UTC, "2026-01-31T12:00:00Z"
  std::optional<double> spread;            // of the swap rate: standard deviation / mean

  // The entry of a directory, however its path is spelled; null if there is none.
  const SwapDir* Find(const std::string& directory) const;
};

// `path` is for the errors.
Result<IoProfile> ParseIoProfile(const std::string& text, const std::string& path);
Result<IoProfile> ReadIoProfile(const std::string& path);

// What ParseIoProfile() reads back as the same; a profile that was printed here and read prints as the same bytes.
std::string FormatIoProfile(const IoProfile& profile);

}  // namespace tidemill::train
