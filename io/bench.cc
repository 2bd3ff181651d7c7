#include "io/bench.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <system_error>
#include <thread>

#include "base/aligned_buffer.h"
#include "base/byte_size.h"
#include "io/bench_job.h"
#include "io/latency_histogram.h"

namespace tidemill::io {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

// Bytes that this process has had moved to and from drives; nothing where the kernel does not count.
std::optional<uint64_t> DriveBytes() {
  std::ifstream file("/proc/self/io");
  uint64_t total = 0, value = 0;
  bool any = false;
  for (std::string key; file >> key >> value;) {
    if (key != "read_bytes:" && key != "write_bytes:") continue;
    total += value;
    any = true;
  }
  return any ? std::optional(total) : std::nullopt;
}

double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Result<BenchJob> PrepareJob(const BlockFile& file, const BenchPoint& point, size_t index,
                            std::vector<std::string>& notes) {
  BenchJob job;
  job.block_file = file;
  job.part_bytes = file.capacity_bytes / point.jobs / RequestBytes(point) * RequestBytes(point);
  job.begin_bytes = index * job.part_bytes;
  const size_t requests = RequestsInFlight(point);
  TM_ASSIGN_OR_RETURN(job.memory, AlignedBuffer::Allocate(requests * RequestBytes(point)));
  MakePattern(job.begin_bytes, job.memory.span());  // also touches every page before the clock runs
  TM_ASSIGN_OR_RETURN(
      OpenedEngine opened,
      OpenEngine({.choice = point.engine,
                  .limits = {.depth = point.depth, .block_bytes = point.block_bytes, .requests_max = requests},
                  .registered = {job.memory.span()}}));
  opened.engine->AddFile(file);
  job.engine = std::move(opened.engine);
  notes = std::move(opened.notes);
  return job;
}

Result<std::vector<BenchJob>> PrepareJobs(std::span<BenchFile> files, const BenchPoint& point, BenchRow& row) {
  std::vector<BenchJob> jobs;
  for (size_t f = 0; f < files.size(); ++f) {
    for (size_t j = 0; j < point.jobs; ++j) {
      TM_ASSIGN_OR_RETURN(BenchJob job, PrepareJob(files[f].block_file(), point, j, row.notes));
      job.file = f;
      jobs.push_back(std::move(job));
    }
  }
  row.engine = jobs[0].engine->name();
  return jobs;
}

double PerSecond(uint64_t bytes, double seconds) { return seconds > 0 ? static_cast<double>(bytes) / seconds : 0; }

void Summarize(const std::vector<BenchJob>& jobs, size_t files, double seconds, BenchRow& row) {
  LatencyHistogram latency;
  std::array<uint64_t, kBenchSlices> slices{};
  row.files.resize(files);
  for (const BenchJob& job : jobs) {
    latency.Merge(job.latency);
    row.files[job.file].read_bytes_per_s += PerSecond(job.read_bytes, job.read_seconds);
    row.files[job.file].written_bytes_per_s += PerSecond(job.written_bytes, job.write_seconds);
    for (size_t i = 0; i < kBenchSlices; ++i) slices[i] += job.slice_bytes[i];
  }
  for (const BenchRow::Directions& file : row.files) {
    row.read_bytes_per_s += file.read_bytes_per_s;
    row.written_bytes_per_s += file.written_bytes_per_s;
  }
  row.gb_per_s = (row.read_bytes_per_s + row.written_bytes_per_s) / 1e9;
  double squares = 0;
  for (const uint64_t bytes : slices) {
    const double rate = static_cast<double>(bytes) / (seconds / kBenchSlices) / 1e9;
    row.slices_gb_per_s.push_back(rate);
    squares += (rate - row.gb_per_s) * (rate - row.gb_per_s);
  }
  row.deviation_gb_per_s = std::sqrt(squares / (kBenchSlices - 1));
  row.mean_us = latency.MeanMicroseconds();
  row.p50_us = latency.QuantileMicroseconds(0.5);
  row.p99_us = latency.QuantileMicroseconds(0.99);
  row.p999_us = latency.QuantileMicroseconds(0.999);
}

// Runs every job to its end on a thread of its own. kUnavailable where the system has fewer threads.
Status RunJobs(std::vector<BenchJob>& jobs, const BenchPoint& point, double seconds, bool verify,
               const StopQuestion& stop) {
  std::atomic<bool> too_few_threads = false;
  const StopQuestion stop_jobs = [&] { return too_few_threads || stop(); };
  const BenchRun run{point, seconds, verify, stop_jobs, Clock::now()};
  std::vector<std::thread> threads;
  threads.reserve(jobs.size());
  try {
    for (BenchJob& job : jobs) threads.emplace_back([&job, &run] { RunBenchJob(job, run); });
  } catch (const std::system_error&) {
    too_few_threads = true;
  }
  for (std::thread& thread : threads) thread.join();
  if (!too_few_threads) return Ok();
  return Fail(ErrorCode::kUnavailable, "the system gives " + std::to_string(threads.size()) + " threads (of " +
                                           std::to_string(jobs.size()) +
                                           " jobs): pass fewer --numjobs, or raise ulimit -u and -v");
}

}  // namespace

Result<BenchMix> ParseBenchMix(std::string_view text) {
  for (const BenchMix mix : {BenchMix::kRead, BenchMix::kWrite, BenchMix::kReadWrite}) {
    if (text == Name(mix)) return mix;
  }
  return Fail(ErrorCode::kInvalidArgument, "unknown --rw '" + std::string(text) + "': choose read, write or readwrite");
}

std::string_view Name(BenchMix mix) {
  constexpr std::array<std::string_view, 4> kNames{"read", "write", "readwrite", "swap"};
  return kNames[static_cast<size_t>(mix)];
}

Status CheckBenchPoint(uint64_t size_bytes, const BenchPoint& point, size_t files) {
  const uint64_t part = size_bytes / std::max<size_t>(point.jobs, 1);
  const auto refuse = [&](const std::string& why) {
    return Fail(ErrorCode::kInvalidArgument, "cannot measure blocks of " + FormatBytes(point.block_bytes) + ": " + why);
  };
  if (point.depth == 0 || point.jobs == 0) return refuse("depth and jobs start at 1");
  if (point.block_bytes == 0 || point.block_bytes % kAlignmentBytes != 0) return refuse("--bs is a multiple of 4096");
  if (point.block_bytes > kGiB) return refuse("--bs is at most 1 GiB");
  if (RequestBytes(point) > part)
    return refuse("a job's part of the file has " + FormatBytes(part) + "; pass a larger --size or fewer --numjobs");
  const auto free_bytes =
      static_cast<uint64_t>(::sysconf(_SC_AVPHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const double need = static_cast<double>(RequestBytes(point)) * static_cast<double>(RequestsInFlight(point)) *
                      static_cast<double>(point.jobs) * static_cast<double>(files);
  if (need > static_cast<double>(free_bytes) / 2)
    return Fail(ErrorCode::kDoesNotFit, "buffers of " + FormatBytes(RequestBytes(point)) + " for depth " +
                                            std::to_string(point.depth) + " and " + std::to_string(point.jobs) +
                                            " jobs need more than half of the free memory: pass a smaller one");
  return Ok();
}

Result<BenchRow> RunBenchPoint(std::span<BenchFile> files, const BenchPoint& point, double runtime_seconds, bool verify,
                               const StopQuestion& stop) {
  BenchRow row;
  row.direct = true;
  for (BenchFile& file : files) {
    TM_RETURN_IF_ERROR(CheckBenchPoint(file.size_bytes(), point, files.size()));
    if (verify && !file.has_pattern()) TM_RETURN_IF_ERROR(file.WritePattern(stop));
    row.direct = row.direct && file.direct();
  }
  TM_ASSIGN_OR_RETURN(std::vector<BenchJob> jobs, PrepareJobs(files, point, row));

  const auto drive_before = DriveBytes();
  const double cpu_before = CpuSeconds();
  const Clock::time_point start = Clock::now();
  TM_RETURN_IF_ERROR(RunJobs(jobs, point, runtime_seconds, verify, stop));
  row.cpu_percent = (CpuSeconds() - cpu_before) / Seconds(Clock::now() - start) * 100;

  for (const BenchJob& job : jobs) {
    TM_RETURN_IF_ERROR(Status(job.status));
    row.moved_bytes += job.engine->counters().read_bytes + job.engine->counters().written_bytes;
  }
  if (stop()) return Fail(ErrorCode::kInterrupted, "stopped by a signal: the bench file is gone or as it was");
  const auto drive_after = DriveBytes();
  row.reached_drive_fraction =
      drive_before && drive_after && row.moved_bytes > 0
          ? static_cast<double>(*drive_after - *drive_before) / static_cast<double>(row.moved_bytes)
          : -1;
  Summarize(jobs, files.size(), runtime_seconds, row);
  jobs.clear();
  if (!verify || point.mix == BenchMix::kRead) return row;
  for (const BenchFile& file : files) TM_RETURN_IF_ERROR(file.CheckPattern(0, file.size_bytes(), stop));
  return row;
}

}  // namespace tidemill::io
