#include "base/thread_team.h"

#include "base/check.h"

namespace tidemill {
namespace {

constexpr int kSpins = 2000;  // about 20 microseconds: the gap between two kernels, not between two steps

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

void StopAll(std::mutex& mutex, bool& stop, std::atomic<uint64_t>& round, std::condition_variable& started,
             std::vector<std::thread>& workers) {
  {
    const std::scoped_lock lock(mutex);
    stop = true;
    round.fetch_add(1);
  }
  started.notify_all();
  for (std::thread& worker : workers) worker.join();
}

}  // namespace

ThreadTeam::ThreadTeam(size_t size) {
  TM_CHECK(size >= 1);
  try {
    for (size_t member = 1; member < size; ++member) workers_.emplace_back([this, member] { Work(member); });
  } catch (...) {  // the system has no thread left: those that started must end before they are forgotten
    StopAll(mutex_, stop_, round_, started_, workers_);
    throw;
  }
}

ThreadTeam::~ThreadTeam() { StopAll(mutex_, stop_, round_, started_, workers_); }

void ThreadTeam::RunErased(Body body, const void* context) {
  if (workers_.empty()) return body(context, 0);
  {
    const std::scoped_lock lock(mutex_);
    body_ = body;
    context_ = context;
    unfinished_.store(workers_.size());
    round_.fetch_add(1);
  }
  started_.notify_all();
  body(context, 0);
  for (int spin = 0; spin < kSpins && unfinished_.load() != 0; ++spin) Pause();
  if (unfinished_.load() == 0) return;
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [this] { return unfinished_.load() == 0; });
}

void ThreadTeam::Work(size_t member) {
  for (uint64_t seen = 0;;) {
    for (int spin = 0; spin < kSpins && round_.load() == seen; ++spin) Pause();
    if (round_.load() == seen) {
      std::unique_lock lock(mutex_);
      started_.wait(lock, [&] { return round_.load() != seen; });
    }
    seen = round_.load();
    if (stop_) return;
    body_(context_, member);
    if (unfinished_.fetch_sub(1) == 1) {
      const std::scoped_lock lock(mutex_);
      finished_.notify_one();
    }
  }
}

}  // namespace tidemill
