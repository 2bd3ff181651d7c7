// A fixed team of threads that runs one data-parallel loop at a time.
//
//   Threads     Run() is called by one thread at a time per team; the caller works as member 0.
//   Limits      size() - 1 threads, started in the constructor. Run() allocates nothing.
//   Waiting     members spin for some microseconds, then sleep: an idle team takes no core from I/O and copies.
//
// Work is split by the caller, statically: nothing about the result may depend on size() or on timing. (oneTBB would do
// this too; its uninstrumented scheduler hides races from ThreadSanitizer, which is how ordering is proved here.)
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace tidemill {

class ThreadTeam {
 public:
  explicit ThreadTeam(size_t size);  // at least 1
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;

  size_t size() const { return workers_.size() + 1; }

  // Calls body(member) for member in [0, size()), all at once, and returns when the last has returned.
  template <typename Body>
  void Run(const Body& body) {
    RunErased([](const void* erased, size_t member) { (*static_cast<const Body*>(erased))(member); }, &body);
  }

  // Calls body(begin, end) over contiguous shares of [0, count), each a multiple of `grain` except the last.
  template <typename Body>
  void For(size_t count, size_t grain, const Body& body) {
    const size_t grains = (count + grain - 1) / grain;
    if (size() == 1 || grains <= 1) {
      if (count > 0) body(size_t{0}, count);
      return;
    }
    Run([&](size_t member) {
      const size_t begin = grains * member / size() * grain, end = grains * (member + 1) / size() * grain;
      if (begin < end) body(begin, end < count ? end : count);
    });
  }

 private:
  using Body = void (*)(const void*, size_t);
  void RunErased(Body body, const void* context);
  void Work(size_t member);

  Body body_ = nullptr;
  const void* context_ = nullptr;
  std::atomic<uint64_t> round_ = 0;     // grows by one per Run(); members wait for it to change
  std::atomic<size_t> unfinished_ = 0;  // members still in the current round
  bool stop_ = false;
  std::mutex mutex_;
  std::condition_variable started_, finished_;
  std::vector<std::thread> workers_;
};

}  // namespace tidemill
