#include "gpu/host_stream.h"

#include <pthread.h>

#include <cstring>

#include "gpu/host_compute.h"
#include "gpu/host_operations.h"

namespace tidemill::gpu {

HostStream::HostStream(std::string name, HostCompute& compute, StreamProgress& progress, std::span<std::byte> workspace)
    : compute_(compute),
      progress_(progress),
      workspace_(workspace),
      operations_(MakeHostOperations(*this)),
      worker_([this] { Work(); }) {
  name.resize(std::min<size_t>(name.size(), 15));  // what the kernel keeps of a thread's name
  ::pthread_setname_np(worker_.native_handle(), name.c_str());
}

HostStream::~HostStream() {
  Claim().run = nullptr;
  Publish();
  worker_.join();
}

void HostStream::CopyToDevice(std::byte* device, std::span<const std::byte> host) {
  Enqueue([device, host](HostCompute& compute, std::span<std::byte>) {
    compute.upload().Run(static_cast<double>(host.size()), [&] { std::memcpy(device, host.data(), host.size()); });
  });
}

void HostStream::CopyToHost(std::span<std::byte> host, const std::byte* device) {
  Enqueue([host, device](HostCompute& compute, std::span<std::byte>) {
    compute.download().Run(static_cast<double>(host.size()), [&] { std::memcpy(host.data(), device, host.size()); });
  });
}

void HostStream::CopyOnDevice(std::byte* to, const std::byte* from, size_t bytes) {
  Enqueue([=](HostCompute& compute, std::span<std::byte>) { compute.Copy(to, from, bytes); });
}

void HostStream::FillZero(std::byte* device, size_t bytes) {
  Enqueue([=](HostCompute& compute, std::span<std::byte>) { compute.FillZero(device, bytes); });
}

// The point is the end of what was given before. Recording takes no slot: nothing has to run there.
void HostStream::Record(Event& event) {
  const std::scoped_lock lock(mutex_);
  static_cast<HostEvent&>(event).set_point({&progress_, given_count_});
}

void HostStream::Wait(Event& event) {
  const HostEvent::Point point = static_cast<HostEvent&>(event).point();
  Enqueue([point](HostCompute&, std::span<std::byte>) { point.Wait(); });
}

void HostStream::Notify(void (*fn)(void*), void* context) {
  Enqueue([=](HostCompute&, std::span<std::byte>) { fn(context); });
}

Status HostStream::Synchronize() {
  uint64_t given = 0;
  {
    const std::scoped_lock lock(mutex_);
    given = given_count_;
  }
  progress_.WaitFor(given);
  return Ok();
}

HostStream::Slot& HostStream::Claim() {
  std::unique_lock lock(mutex_);
  taken_.wait(lock, [this] { return given_count_ - taken_count_ < kQueueDepth; });
  return ring_[given_count_ % kQueueDepth];
}

void HostStream::Publish() {
  {
    const std::scoped_lock lock(mutex_);
    ++given_count_;
  }
  given_.notify_one();
}

void HostStream::Work() {
  for (uint64_t next = 0;; ++next) {
    {
      std::unique_lock lock(mutex_);
      given_.wait(lock, [&] { return given_count_ > next; });
    }
    const Slot& slot = ring_[next % kQueueDepth];
    if (slot.run == nullptr) return;
    slot.run(slot.task.data(), compute_, workspace_);
    progress_.Advance();
    {
      const std::scoped_lock lock(mutex_);
      ++taken_count_;
    }
    taken_.notify_one();
  }
}

}  // namespace tidemill::gpu
