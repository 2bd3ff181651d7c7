// One thread of a measurement (io/bench.h): an engine, its part of one file, and what it moved.
//
//   Threads   RunBenchJob() is called on the job's own thread; everything else before or after.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "io/bench.h"
#include "io/latency_histogram.h"

namespace tidemill::io {

inline constexpr size_t kBenchSlices = 20;

struct BenchJob {
  size_t file = 0;  // of those that are measured together
  BlockFile block_file;
  uint64_t begin_bytes = 0, part_bytes = 0;
  AlignedBuffer memory;
  std::unique_ptr<Engine> engine;  // before its memory

  Status status;
  LatencyHistogram latency;  // of requests
  std::array<uint64_t, kBenchSlices> slice_bytes{};
  // kSwap counts until its last request of a direction has ended, the others what ended within the run time.
  uint64_t read_bytes = 0, written_bytes = 0;
  double read_seconds = 0, write_seconds = 0;
};

struct BenchRun {
  const BenchPoint& point;
  double seconds;
  bool verify;
  const StopQuestion& stop;
  std::chrono::steady_clock::time_point start;
};

// What the job keeps in flight, and how large each is.
size_t RequestsInFlight(const BenchPoint& point);
uint64_t RequestBytes(const BenchPoint& point);

void RunBenchJob(BenchJob& job, const BenchRun& run);

}  // namespace tidemill::io
