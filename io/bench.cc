#include "io/bench.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <memory>
#include <system_error>
#include <thread>

#include "base/aligned_buffer.h"
#include "base/byte_size.h"
#include "io/latency_histogram.h"
#include "io/pump.h"

namespace tidemill::io {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kSlices = 20;

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

// One job: its part of the file, its engine, its counts.
struct Job {
  uint64_t begin_bytes = 0, part_bytes = 0;
  AlignedBuffer memory;
  std::unique_ptr<Engine> engine;  // before its memory
  Status status;
  LatencyHistogram latency;
  std::array<uint64_t, kSlices> slice_bytes{};
  uint64_t read_bytes = 0, written_bytes = 0;  // within the run time
};

struct Run {
  const BlockFile file;
  const BenchPoint& point;
  const double seconds;
  const bool verify;
  const StopQuestion& stop;
  Clock::time_point start;
};

void Measure(Job& job, const Run& run) {
  const uint64_t block = run.point.block_bytes;
  struct Slot {
    IoRequest request;
    Clock::time_point submitted;
  };
  std::vector<Slot> slots(run.point.depth);
  uint64_t at = 0, sequence = job.begin_bytes + 1;
  Clock::time_point now = run.start;
  const auto writes = [&] {
    if (run.point.mix != BenchMix::kReadWrite) return run.point.mix == BenchMix::kWrite;
    sequence = sequence * 6364136223846793005U + 1442695040888963407U;
    return (sequence >> 63) != 0;
  };
  const auto next = [&](size_t index) -> std::optional<IoRequest> {
    if (Seconds(now - run.start) >= run.seconds || run.stop()) return std::nullopt;
    Slot& slot = slots[index];
    slot.request.op = writes() ? IoRequest::Op::kWrite : IoRequest::Op::kRead;
    slot.request.offset_bytes = job.begin_bytes + at;
    slot.request.buffer = job.memory.span().subspan(index * block, block);
    at = at + block < job.part_bytes ? at + block : 0;
    if (run.verify && slot.request.op == IoRequest::Op::kWrite)
      MakePattern(slot.request.offset_bytes, slot.request.buffer);
    slot.submitted = Clock::now();
    return slot.request;
  };
  const auto finished = [&](size_t index) -> Status {
    const Slot& slot = slots[index];
    now = Clock::now();
    const bool reading = slot.request.op == IoRequest::Op::kRead;
    const double share = Seconds(now - run.start) / run.seconds;
    if (share < 1) {
      (reading ? job.read_bytes : job.written_bytes) += block;
      job.slice_bytes[static_cast<size_t>(share * kSlices)] += block;
      job.latency.Add(static_cast<uint64_t>(std::chrono::nanoseconds(now - slot.submitted).count()));
    }
    if (run.verify && reading) return CheckPatternBytes(run.file, slot.request.offset_bytes, slot.request.buffer);
    return Ok();
  };
  job.status = Pump(*job.engine, run.point.depth, next, finished);
}

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

Result<std::vector<Job>> PrepareJobs(const BlockFile& file, const BenchPoint& point, BenchRow& row) {
  std::vector<Job> jobs(point.jobs);
  const uint64_t part = file.capacity_bytes / point.jobs / point.block_bytes * point.block_bytes;
  for (size_t j = 0; j < jobs.size(); ++j) {
    jobs[j].begin_bytes = j * part;
    jobs[j].part_bytes = part;
    TM_ASSIGN_OR_RETURN(jobs[j].memory, AlignedBuffer::Allocate(point.depth * point.block_bytes));
    MakePattern(j * part, jobs[j].memory.span());  // also touches every page before the clock runs
    TM_ASSIGN_OR_RETURN(
        OpenedEngine opened,
        OpenEngine({.choice = point.engine,
                    .limits = {.depth = point.depth, .block_bytes = point.block_bytes, .requests_max = point.depth},
                    .registered = {jobs[j].memory.span()}}));
    opened.engine->AddFile(file);
    jobs[j].engine = std::move(opened.engine);
    if (j == 0) row.notes = std::move(opened.notes);
  }
  row.engine = jobs[0].engine->name();
  return jobs;
}

void Summarize(const std::vector<Job>& jobs, double seconds, BenchRow& row) {
  LatencyHistogram latency;
  std::array<uint64_t, kSlices> slices{};
  for (const Job& job : jobs) {
    latency.Merge(job.latency);
    row.read_bytes_per_s += static_cast<double>(job.read_bytes) / seconds;
    row.written_bytes_per_s += static_cast<double>(job.written_bytes) / seconds;
    for (size_t i = 0; i < kSlices; ++i) slices[i] += job.slice_bytes[i];
  }
  row.gb_per_s = (row.read_bytes_per_s + row.written_bytes_per_s) / 1e9;
  double squares = 0;
  for (const uint64_t bytes : slices) {
    const double rate = static_cast<double>(bytes) / (seconds / kSlices) / 1e9;
    row.slices_gb_per_s.push_back(rate);
    squares += (rate - row.gb_per_s) * (rate - row.gb_per_s);
  }
  row.deviation_gb_per_s = std::sqrt(squares / (kSlices - 1));
  row.mean_us = latency.MeanMicroseconds();
  row.p50_us = latency.QuantileMicroseconds(0.5);
  row.p99_us = latency.QuantileMicroseconds(0.99);
  row.p999_us = latency.QuantileMicroseconds(0.999);
}

}  // namespace

Result<BenchMix> ParseBenchMix(std::string_view text) {
  for (const BenchMix mix : {BenchMix::kRead, BenchMix::kWrite, BenchMix::kReadWrite}) {
    if (text == Name(mix)) return mix;
  }
  return Fail(ErrorCode::kInvalidArgument, "unknown --rw '" + std::string(text) + "': choose read, write or readwrite");
}

std::string_view Name(BenchMix mix) {
  return mix == BenchMix::kRead ? "read" : mix == BenchMix::kWrite ? "write" : "readwrite";
}

Status CheckBenchPoint(uint64_t size_bytes, const BenchPoint& point) {
  const uint64_t part = size_bytes / std::max<size_t>(point.jobs, 1);
  const auto refuse = [&](const std::string& why) {
    return Fail(ErrorCode::kInvalidArgument, "cannot measure blocks of " + FormatBytes(point.block_bytes) + ": " + why);
  };
  if (point.depth == 0 || point.jobs == 0) return refuse("depth and jobs start at 1");
  if (point.block_bytes == 0 || point.block_bytes % kAlignmentBytes != 0) return refuse("--bs is a multiple of 4096");
  if (point.block_bytes > kGiB) return refuse("--bs is at most 1 GiB");
  if (point.block_bytes > part)
    return refuse("a job's part of the file has " + FormatBytes(part) + "; pass a larger --size or fewer --numjobs");
  const auto free_bytes =
      static_cast<uint64_t>(::sysconf(_SC_AVPHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t need = point.block_bytes * point.depth * point.jobs;
  if (need / point.jobs / point.depth != point.block_bytes || need > free_bytes / 2)
    return Fail(ErrorCode::kDoesNotFit, "buffers of " + FormatBytes(point.block_bytes) + " for depth " +
                                            std::to_string(point.depth) + " and " + std::to_string(point.jobs) +
                                            " jobs need more than half of the free memory: pass a smaller one");
  return Ok();
}

Result<BenchRow> RunBenchPoint(BenchFile& file, const BenchPoint& point, double runtime_seconds, bool verify,
                               const StopQuestion& stop) {
  TM_RETURN_IF_ERROR(CheckBenchPoint(file.size_bytes(), point));
  if (verify && !file.has_pattern()) TM_RETURN_IF_ERROR(file.WritePattern(stop));
  BenchRow row;
  row.direct = file.direct();
  TM_ASSIGN_OR_RETURN(std::vector<Job> jobs, PrepareJobs(file.block_file(), point, row));

  const auto drive_before = DriveBytes();
  const double cpu_before = CpuSeconds();
  std::atomic<bool> too_few_threads = false;
  const StopQuestion stop_jobs = [&] { return too_few_threads || stop(); };
  Run run{file.block_file(), point, runtime_seconds, verify, stop_jobs, Clock::now()};
  std::vector<std::thread> threads;
  threads.reserve(jobs.size());
  try {
    for (Job& job : jobs) threads.emplace_back([&job, &run] { Measure(job, run); });
  } catch (const std::system_error&) {
    too_few_threads = true;
  }
  for (std::thread& thread : threads) thread.join();
  if (too_few_threads)
    return Fail(ErrorCode::kUnavailable, "the system gives " + std::to_string(threads.size()) + " threads (of " +
                                             std::to_string(jobs.size()) +
                                             " jobs): pass fewer --numjobs, or raise ulimit -u and -v");
  row.cpu_percent = (CpuSeconds() - cpu_before) / Seconds(Clock::now() - run.start) * 100;

  for (const Job& job : jobs) {
    TM_RETURN_IF_ERROR(Status(job.status));
    row.moved_bytes += job.engine->counters().read_bytes + job.engine->counters().written_bytes;
  }
  if (stop()) return Fail(ErrorCode::kInterrupted, "stopped by a signal: the bench file is gone or as it was");
  const auto drive_after = DriveBytes();
  row.reached_drive_fraction =
      drive_before && drive_after && row.moved_bytes > 0
          ? static_cast<double>(*drive_after - *drive_before) / static_cast<double>(row.moved_bytes)
          : -1;
  Summarize(jobs, runtime_seconds, row);
  jobs.clear();
  if (verify && point.mix != BenchMix::kRead) TM_RETURN_IF_ERROR(file.CheckPattern(0, file.size_bytes(), stop));
  return row;
}

}  // namespace tidemill::io
