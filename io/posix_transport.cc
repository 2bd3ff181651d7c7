// The plain transport: a few threads, each with one pread or pwrite at a time.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "io/transport.h"

namespace tidemill::io {
namespace {

// Threads that wait for a drive cost no core; more than these add nothing to drives worth swapping to.
constexpr size_t kThreadsMax = 32;

int64_t Move(int fd, const RawOp& op) {
  const auto offset = static_cast<off_t>(op.offset_bytes);
  const ssize_t moved = op.op == IoRequest::Op::kRead ? ::pread(fd, op.address, op.bytes, offset)
                                                      : ::pwrite(fd, op.address, op.bytes, offset);
  return moved < 0 ? -errno : moved;
}

class PosixTransport final : public Transport {
 public:
  explicit PosixTransport(size_t depth) : depth_(depth), waiting_(depth), done_(depth) {
    const size_t count = std::min(depth, kThreadsMax);
    threads_.reserve(count);
    try {
      for (size_t i = 0; i < count; ++i) threads_.emplace_back([this] { Work(); });
    } catch (...) {  // the system has no thread left: those that started must end before they are forgotten
      Stop();
      throw;
    }
  }
  ~PosixTransport() override { Stop(); }
  PosixTransport(const PosixTransport&) = delete;

  std::string_view Name() const override { return "posix"; }
  size_t Depth() const override { return depth_; }

  void AddFile(uint32_t index, int fd) override {
    const std::lock_guard lock(mutex_);
    files_.at(index) = fd;
  }

  Status Start(std::span<const RawOp> ops) override {
    {
      const std::lock_guard lock(mutex_);
      TM_CHECK(waiting_count_ + ops.size() <= depth_);
      for (const RawOp& op : ops) waiting_[(waiting_begin_ + waiting_count_++) % depth_] = op;
    }
    if (ops.size() == 1) {
      work_.notify_one();
    } else {
      work_.notify_all();
    }
    return Ok();
  }

  Result<size_t> Collect(std::span<RawResult> results, size_t wait_for) override {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return done_count_ >= wait_for || woken_; });
    woken_ = false;
    const size_t count = std::min(results.size(), done_count_);
    for (size_t i = 0; i < count; ++i) results[i] = done_[--done_count_];
    return count;
  }

  void Wake() override {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    finished_.notify_one();
  }

 private:
  void Stop() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    work_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void Work() {
    std::unique_lock lock(mutex_);
    while (true) {
      work_.wait(lock, [&] { return waiting_count_ > 0 || stop_; });
      if (stop_) return;
      const RawOp op = waiting_[waiting_begin_];
      waiting_begin_ = (waiting_begin_ + 1) % depth_;
      --waiting_count_;
      const int fd = files_.at(op.file);
      lock.unlock();
      const int64_t moved = Move(fd, op);
      lock.lock();
      done_[done_count_++] = {op.id, moved};
      finished_.notify_one();
    }
  }

  const size_t depth_;
  std::mutex mutex_;
  std::condition_variable work_, finished_;
  std::array<int, kFilesMax> files_{};
  std::vector<RawOp> waiting_;  // a ring
  size_t waiting_begin_ = 0, waiting_count_ = 0;
  std::vector<RawResult> done_;  // a stack: results have no order
  size_t done_count_ = 0;
  bool stop_ = false, woken_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<Transport> OpenPosixTransport(size_t depth) { return std::make_unique<PosixTransport>(depth); }

}  // namespace tidemill::io
