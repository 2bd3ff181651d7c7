// Makes a host behave like a slower link or processor: what goes through takes at least amount / rate seconds, one
// after another. It sleeps out the rest, so the cores are free for others meanwhile.
//
//   Threads     any; concurrent users share the rate, first come first served.
#pragma once

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

namespace tidemill::gpu {

class Throttle {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Throttle(double rate_per_s) : rate_per_s_(rate_per_s) {}  // 0: no limit

  // Does the work and returns no sooner than the rate allows, counted from now or from the end of what goes before.
  template <typename Work>
  void Run(double amount, const Work& work) {
    if (rate_per_s_ <= 0) return work();
    const Clock::time_point end = Reserve(amount);
    work();
    std::this_thread::sleep_until(end);
  }

 private:
  Clock::time_point Reserve(double amount) {
    const auto takes = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(amount / rate_per_s_));
    const std::scoped_lock lock(mutex_);
    free_at_ = std::max(free_at_, Clock::now()) + takes;
    return free_at_;
  }

  const double rate_per_s_;
  std::mutex mutex_;
  Clock::time_point free_at_;  // when everything let in so far has gone through
};

}  // namespace tidemill::gpu
