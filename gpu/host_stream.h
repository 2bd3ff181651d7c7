// A stream of the host device: one worker thread that runs tasks in the order in which they were given.
//
//   Ownership   tasks live in a ring of fixed slots: feeding copies the arguments in and allocates nothing.
//   Threads     fed by one thread at a time. Waiting for a stream's progress: any thread.
//   Limits      kQueueDepth tasks; feeding a full queue blocks until the worker has taken one.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <type_traits>

#include "gpu/device.h"

namespace tidemill::gpu {

class HostCompute;  // the arithmetic: threads and kernels, shared by the device's streams

inline constexpr size_t kQueueDepth = 256;
inline constexpr size_t kTaskBytes = 256;  // of a task's arguments

// How many tasks of a stream have ended. Belongs to the device, so that an event outlives the stream that recorded it.
class StreamProgress {
 public:
  void Advance() {
    const std::scoped_lock lock(mutex_);
    ++ended_;
    if (waiters_ > 0) moved_.notify_all();
  }
  // Blocks until the first `count` tasks have ended.
  void WaitFor(uint64_t count) {
    std::unique_lock lock(mutex_);
    ++waiters_;
    moved_.wait(lock, [&] { return ended_ >= count; });
    --waiters_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable moved_;
  uint64_t ended_ = 0;
  int waiters_ = 0;
};

class HostEvent final : public Event {
 public:
  // A point in a stream: reached once `count` of its tasks have ended.
  struct Point {
    StreamProgress* progress = nullptr;  // null: never recorded
    uint64_t count = 0;
    void Wait() const {
      if (progress != nullptr) progress->WaitFor(count);
    }
  };

  void Synchronize() override { point().Wait(); }

  Point point() const {
    const std::scoped_lock lock(mutex_);
    return point_;
  }
  void set_point(Point point) {
    const std::scoped_lock lock(mutex_);
    point_ = point;
  }

 private:
  mutable std::mutex mutex_;
  Point point_;
};

class HostStream final : public Stream {
 public:
  HostStream(std::string name, HostCompute& compute, StreamProgress& progress, std::span<std::byte> workspace);
  ~HostStream() override;

  void CopyToDevice(std::byte* device, std::span<const std::byte> host) override;
  void CopyToHost(std::span<std::byte> host, const std::byte* device) override;
  void CopyOnDevice(std::byte* to, const std::byte* from, size_t bytes) override;
  void FillZero(std::byte* device, size_t bytes) override;
  void Record(Event& event) override;
  void Wait(Event& event) override;
  void Notify(void (*fn)(void*), void* context) override;
  Status Synchronize() override;
  Operations& operations() override { return *operations_; }

  // Calls task(compute, workspace) on the worker after everything given before. The task is copied as bytes.
  template <typename Task>
  void Enqueue(const Task& task) {
    static_assert(sizeof(Task) <= kTaskBytes && std::is_trivially_copyable_v<Task>);
    Slot& slot = Claim();
    new (slot.task.data()) Task(task);
    slot.run = [](const std::byte* bytes, HostCompute& compute, std::span<std::byte> workspace) {
      (*std::launder(reinterpret_cast<const Task*>(bytes)))(compute, workspace);
    };
    Publish();
  }

 private:
  struct Slot {
    alignas(std::max_align_t) std::array<std::byte, kTaskBytes> task;
    void (*run)(const std::byte*, HostCompute&, std::span<std::byte>);  // null: the worker's end
  };
  Slot& Claim();  // waits for a free slot; only the feeding thread touches it until Publish()
  void Publish();
  void Work();

  HostCompute& compute_;
  StreamProgress& progress_;
  const std::span<std::byte> workspace_;
  std::unique_ptr<Operations> operations_;
  std::mutex mutex_;
  std::condition_variable given_, taken_;
  uint64_t given_count_ = 0, taken_count_ = 0;  // tasks ever given, and ever ended, under the mutex
  std::array<Slot, kQueueDepth> ring_;
  std::thread worker_;
};

}  // namespace tidemill::gpu
