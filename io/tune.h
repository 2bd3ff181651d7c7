// Measures swap directories as a training step uses them, and finds the point at which they are fastest.
//
// The pattern is BenchMix::kSwap in every directory at once. What counts is twice the slower direction: a step reads
// about as many bytes of state as it writes. The reference is what the nvme tier uses when nobody has tuned.
//
//   Files       one in each directory, as io/bench_file.h has it: nothing stays behind.
//   Threads     as io/bench.h.
//   Errors      kInvalidArgument: a directory twice, or files too small; kDoesNotFit, kIo: a file cannot be made;
//               kUnavailable: O_DIRECT is refused everywhere; kInterrupted: `stop` said so; else as io/bench.h.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/bench.h"
#include "io/point_search.h"

namespace tidemill::io {

struct TuneRequest {
  std::vector<std::string> directories;
  uint64_t file_bytes = 0;     // in each directory
  bool quick = false;          // a coarser grid
  double budget_seconds = 48;  // for everything here; files that take long to write may exceed it
  StopQuestion stop;
  std::function<void(const std::string&)> say = {};  // words to people, as it goes on
};

// Medians over the repetitions.
struct DirectoryRates {
  std::string path = {};                                 // canonical
  double read_bytes_per_s = 0, written_bytes_per_s = 0;  // alone, one direction at a time
  BenchRow::Directions alone = {};                       // swapping, alone
  BenchRow::Directions together = {};                    // its part while every directory swaps
  double block_latency_us = 0;                           // of a block that is read, alone
  double spread = 0;                                     // of `alone`
};

struct TuneResult {
  std::vector<BenchPoint> candidates;
  SearchOutcome search;
  BenchPoint point;    // the chosen one
  std::string engine;  // its engine
  std::vector<DirectoryRates> directories;
  std::vector<std::string> refused;     // directories without O_DIRECT: not measured
  std::vector<double> swap, saturated;  // bytes/s over all directories, of each turn: as training swaps, and with
                                        // as many blocks in flight as the drives could want
  double reached_drive_fraction = -1;   // the smallest seen; -1: not known
  uint64_t free_bytes = 0;              // in all directories, drives that hold several counted once
};

Result<TuneResult> TuneDirectories(const TuneRequest& request);

// Every combination that is tried, of `engines` (those that this machine allows, the best first). The reference is the
// first.
std::vector<BenchPoint> TuneCandidates(const std::vector<EngineChoice>& engines, bool quick);

}  // namespace tidemill::io
