// A device that counts how often the host waits for each of its streams, and does everything else as the one it wraps.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "gpu/device.h"

namespace tidemill::fakes {

// Outlives the device.
class StreamWaits {
 public:
  std::atomic<int64_t>& of(const std::string& stream) {
    const std::scoped_lock lock(mutex_);
    return waits_[stream];
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::atomic<int64_t>> waits_;  // elements of a map stay where they are
};

class CountingStream final : public gpu::Stream {
 public:
  CountingStream(std::unique_ptr<gpu::Stream> inner, std::atomic<int64_t>& waits)
      : inner_(std::move(inner)), waits_(waits) {}

  void CopyToDevice(std::byte* device, std::span<const std::byte> host) override { inner_->CopyToDevice(device, host); }
  void CopyToHost(std::span<std::byte> host, const std::byte* device) override { inner_->CopyToHost(host, device); }
  void CopyOnDevice(std::byte* to, const std::byte* from, size_t bytes) override {
    inner_->CopyOnDevice(to, from, bytes);
  }
  void FillZero(std::byte* device, size_t bytes) override { inner_->FillZero(device, bytes); }
  void Record(gpu::Event& event) override { inner_->Record(event); }
  void Wait(gpu::Event& event) override { inner_->Wait(event); }
  void Notify(void (*fn)(void*), void* context) override { inner_->Notify(fn, context); }
  Status Synchronize() override {
    ++waits_;
    return inner_->Synchronize();
  }
  gpu::Operations& operations() override { return inner_->operations(); }

 private:
  const std::unique_ptr<gpu::Stream> inner_;
  std::atomic<int64_t>& waits_;
};

class CountingDevice final : public gpu::Device {
 public:
  CountingDevice(std::unique_ptr<gpu::Device> inner, StreamWaits& waits) : inner_(std::move(inner)), waits_(waits) {}

  std::string Description() const override { return inner_->Description(); }
  uint64_t MemoryBytes() const override { return inner_->MemoryBytes(); }
  Status ReserveArena(uint64_t bytes) override { return inner_->ReserveArena(bytes); }
  std::byte* Arena() const override { return inner_->Arena(); }
  Status PinHostMemory(std::span<std::byte> host) override { return inner_->PinHostMemory(host); }
  std::unique_ptr<gpu::Stream> NewStream(std::string name, std::span<std::byte> workspace) override {
    std::atomic<int64_t>& waits = waits_.of(name);
    return std::make_unique<CountingStream>(inner_->NewStream(std::move(name), workspace), waits);
  }
  std::unique_ptr<gpu::Event> NewEvent() override { return inner_->NewEvent(); }
  uint64_t WorkspaceBytes(const gpu::WorkspaceLimits& limits) const override { return inner_->WorkspaceBytes(limits); }

 private:
  const std::unique_ptr<gpu::Device> inner_;
  StreamWaits& waits_;
};

}  // namespace tidemill::fakes
