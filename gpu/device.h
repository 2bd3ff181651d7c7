// One device: a memory arena, ordered streams, copies. What is computed is in gpu/operations.h.
//
//   Ownership   the device owns its arena; streams and events are the caller's and must go before the device.
//   Threads     creating streams and events: any thread. A stream is fed by one thread at a time.
//   Errors      feeding a stream never fails; what went wrong asynchronously is reported by Synchronize().
//   Limits      feeding a stream allocates nothing and blocks only while its queue is full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "gpu/operations.h"

namespace tidemill::gpu {

// A point in a stream. Reusable: Record() again moves it. Waiting for one never recorded returns at once.
class Event {
 public:
  virtual ~Event() = default;
  virtual void Synchronize() = 0;  // blocks the calling thread until the recorded point has been reached
};

// Work carried out in the order in which it was given.
class Stream {
 public:
  virtual ~Stream() = default;  // waits for all its work

  // Copies. The host bytes must stay valid until the copy has ended; pinned by Device::PinHostMemory for full speed.
  virtual void CopyToDevice(std::byte* device, std::span<const std::byte> host) = 0;
  virtual void CopyToHost(std::span<std::byte> host, const std::byte* device) = 0;
  virtual void CopyOnDevice(std::byte* to, const std::byte* from, size_t bytes) = 0;
  virtual void FillZero(std::byte* device, size_t bytes) = 0;

  virtual void Record(Event& event) = 0;
  virtual void Wait(Event& event) = 0;  // later work of this stream starts after the event
  // Calls fn(context) on some thread when everything before it has ended. It must be short and must not feed a stream.
  virtual void Notify(void (*fn)(void*), void* context) = 0;

  // Blocks until all work so far has ended, and says whether it succeeded.
  virtual Status Synchronize() = 0;

  // The arithmetic of this stream's device, in this stream's order.
  virtual Operations& operations() = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string Description() const = 0;  // for people: "host, 2 threads, avx512"
  virtual uint64_t MemoryBytes() const = 0;     // all the memory that it has; 0 if only the process's own limits apply

  // Reserves the arena, once. Offsets that the plan speaks of count from its start, which is 4096-aligned.
  virtual Status ReserveArena(uint64_t bytes) = 0;
  virtual std::byte* Arena() const = 0;

  // Makes host memory reachable by the copy engines at full speed. The bytes stay the caller's and must outlive the
  // device.
  virtual Status PinHostMemory(std::span<std::byte> host) = 0;

  // A stream whose operations may use `workspace` (device memory, at least WorkspaceBytes of what will run on it).
  virtual std::unique_ptr<Stream> NewStream(std::string name, std::span<std::byte> workspace) = 0;
  virtual std::unique_ptr<Event> NewEvent() = 0;

  // Workspace that any operation within these limits needs: rows of a micro-batch, the largest weight matrix or
  // vocabulary slice (rows x cols), its dtype, and the attention's shape.
  virtual uint64_t WorkspaceBytes(const WorkspaceLimits& limits) const = 0;
};

}  // namespace tidemill::gpu
