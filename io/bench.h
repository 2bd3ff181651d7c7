// Measures one point: how fast an engine moves blocks of one size, at one depth, with some jobs, through one file or
// through several at once.
//
// As fio does with the same words: job j keeps to the j-th part of a file and goes through it front to back, then
// from its start again; a block is timed from submission to completion; what completes within the run time counts.
// "readwrite" reads or writes each block, by a fixed sequence that is even in the long run. Of several files each has
// that many jobs, and each moves as fast as it can.
//
// kSwap is what a training step does to a swap directory (offload/swap_space.h): one page is being read while another
// is being written, each cut into blocks, and no more; what is waited for goes first. Its latency is a page's.
//
//   Threads   starts one per job, and returns when they have ended.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/bench_file.h"
#include "io/open_engine.h"

namespace tidemill::io {

enum class BenchMix { kRead, kWrite, kReadWrite, kSwap };

// "read", "write", "readwrite": the values of --rw. kInvalidArgument for anything else.
Result<BenchMix> ParseBenchMix(std::string_view text);
std::string_view Name(BenchMix mix);  // of kSwap: "swap"

struct BenchPoint {
  EngineChoice engine = EngineChoice::kAuto;
  BenchMix mix = BenchMix::kRead;
  uint64_t block_bytes = 1 << 20;
  size_t depth = 8;
  size_t jobs = 1;                // for each file
  uint64_t page_bytes = 8 << 20;  // kSwap only
};

struct BenchRow {
  struct Directions {
    double read_bytes_per_s = 0, written_bytes_per_s = 0;
  };

  std::string engine;   // that really ran
  double gb_per_s = 0;  // 1e9 bytes per second, both directions together
  double read_bytes_per_s = 0, written_bytes_per_s = 0;
  std::vector<Directions> files;        // the part of each file in them
  double deviation_gb_per_s = 0;        // standard deviation over the slices of the run
  std::vector<double> slices_gb_per_s;  // the run in equal parts: a write cache that fills up shows here
  double mean_us = 0, p50_us = 0, p99_us = 0, p999_us = 0;
  double cpu_percent = 0;             // of one core, kernel and user
  bool direct = false;                // every file
  uint64_t moved_bytes = 0;           // also those that completed after the run time
  double reached_drive_fraction = 0;  // bytes that /proc/self/io saw reach the drive, of those moved; -1: not known
  std::vector<std::string> notes;     // refusals on the way
};

// Whether the point can be measured in `files` files of `size_bytes`: kInvalidArgument for a block size that is no
// multiple of kAlignmentBytes, larger than a job's part or than 1 GiB; kDoesNotFit for buffers larger than half of the
// free memory.
Status CheckBenchPoint(uint64_t size_bytes, const BenchPoint& point, size_t files = 1);

// `verify`: blocks carry the file's pattern (written to it first if it has none), reads are checked as they come and
// writes are read back afterwards. Fails as CheckBenchPoint() does; kUnavailable: a named engine is refused; kCorrupt:
// a wrong byte; kInterrupted: `stop` said so. The files are of one size.
Result<BenchRow> RunBenchPoint(std::span<BenchFile> files, const BenchPoint& point, double runtime_seconds, bool verify,
                               const StopQuestion& stop);

}  // namespace tidemill::io
