#include "io/bench_job.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "io/pump.h"

namespace tidemill::io {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start, Clock::time_point now) {
  return std::chrono::duration<double>(now - start).count();
}

// What each slot does next, and the count of what it did.
class Worker {
 public:
  Worker(BenchJob& job, const BenchRun& run)
      : job_(job), run_(run), slots_(RequestsInFlight(run.point)), now_(run.start), sequence_(job.begin_bytes + 1) {}

  std::optional<IoRequest> Next(size_t index) {
    if (SecondsSince(run_.start, now_) >= run_.seconds || run_.stop()) return std::nullopt;
    const uint64_t bytes = RequestBytes(run_.point);
    Slot& slot = slots_[index];
    const bool writes = Writes(index);
    slot.request.op = writes ? IoRequest::Op::kWrite : IoRequest::Op::kRead;
    slot.request.offset_bytes = job_.begin_bytes + at_;
    slot.request.buffer = job_.memory.span().subspan(index * bytes, bytes);
    if (run_.point.mix == BenchMix::kSwap)
      slot.request.priority = writes ? Priority::kWriteBack : Priority::kDemand;  // as the nvme tier asks
    at_ = at_ + 2 * bytes <= job_.part_bytes ? at_ + bytes : 0;
    if (run_.verify && writes) MakePattern(slot.request.offset_bytes, slot.request.buffer);
    slot.submitted = Clock::now();
    return slot.request;
  }

  Status Finished(size_t index) {
    const Slot& slot = slots_[index];
    now_ = Clock::now();
    const bool reading = slot.request.op == IoRequest::Op::kRead;
    const uint64_t bytes = slot.request.buffer.size();
    const double elapsed = SecondsSince(run_.start, now_);
    if (run_.point.mix == BenchMix::kSwap) {
      (reading ? job_.read_seconds : job_.write_seconds) = elapsed;
    } else if (elapsed < run_.seconds) {
      job_.slice_bytes[static_cast<size_t>(elapsed / run_.seconds * kBenchSlices)] += bytes;
      job_.read_seconds = job_.write_seconds = run_.seconds;
    }
    if (run_.point.mix == BenchMix::kSwap || elapsed < run_.seconds) {
      (reading ? job_.read_bytes : job_.written_bytes) += bytes;
      job_.latency.Add(static_cast<uint64_t>(std::chrono::nanoseconds(now_ - slot.submitted).count()));
    }
    if (run_.verify && reading)
      return CheckPatternBytes(job_.block_file, slot.request.offset_bytes, slot.request.buffer);
    return Ok();
  }

 private:
  struct Slot {
    IoRequest request;
    Clock::time_point submitted;
  };

  bool Writes(size_t index) {
    if (run_.point.mix == BenchMix::kSwap) return index == 1;
    if (run_.point.mix != BenchMix::kReadWrite) return run_.point.mix == BenchMix::kWrite;
    sequence_ = sequence_ * 6364136223846793005U + 1442695040888963407U;
    return (sequence_ >> 63) != 0;
  }

  BenchJob& job_;
  const BenchRun& run_;
  std::vector<Slot> slots_;
  Clock::time_point now_;
  uint64_t at_ = 0, sequence_;
};

}  // namespace

size_t RequestsInFlight(const BenchPoint& point) { return point.mix == BenchMix::kSwap ? 2 : point.depth; }

uint64_t RequestBytes(const BenchPoint& point) {
  return point.mix == BenchMix::kSwap ? point.page_bytes : point.block_bytes;
}

void RunBenchJob(BenchJob& job, const BenchRun& run) {
  Worker worker(job, run);
  job.status = Pump(
      *job.engine, RequestsInFlight(run.point), [&](size_t slot) { return worker.Next(slot); },
      [&](size_t slot) { return worker.Finished(slot); });
}

}  // namespace tidemill::io
