#include "gpu/host_device.h"

#include <sched.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/byte_size.h"
#include "base/check.h"
#include "gpu/host_compute.h"
#include "gpu/host_operations.h"
#include "gpu/host_stream.h"

namespace tidemill::gpu {
namespace {

constexpr size_t kMostThreads = 1024;

size_t UsableCores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return std::max(1U, std::thread::hardware_concurrency());
  return static_cast<size_t>(std::max(1, CPU_COUNT(&cores)));
}

class HostDevice final : public Device {
 public:
  HostDevice(const DeviceSpec& spec, size_t threads) : spec_(spec), compute_(spec, threads) {}

  std::string Description() const override {
    const size_t threads = compute_.threads();
    return "host, " + std::to_string(threads) + (threads == 1 ? " thread, " : " threads, ") +
           std::string(IsaName(compute_.isa()));
  }

  uint64_t MemoryBytes() const override { return spec_.memory_bytes; }

  Status ReserveArena(uint64_t bytes) override {
    TM_CHECK(arena_.size() == 0);
    if (spec_.memory_bytes != 0 && bytes > spec_.memory_bytes)
      return Fail(ErrorCode::kDoesNotFit, "the device's arena of " + FormatBytes(bytes) +
                                              " is larger than its memory (" + FormatBytes(spec_.memory_bytes) +
                                              "): lower --device-memory, or raise mem= in --device");
    TM_ASSIGN_OR_RETURN(arena_, AlignedBuffer::Allocate(bytes));
    return Ok();
  }

  std::byte* Arena() const override { return arena_.data(); }

  Status PinHostMemory(std::span<std::byte> /*host*/) override { return Ok(); }  // a processor reads any memory

  std::unique_ptr<Stream> NewStream(std::string name, std::span<std::byte> workspace) override {
    StreamProgress* progress = nullptr;
    {
      const std::scoped_lock lock(mutex_);
      progress = &progress_.emplace_back();
    }
    return std::make_unique<HostStream>(std::move(name), compute_, *progress, workspace);
  }

  std::unique_ptr<Event> NewEvent() override { return std::make_unique<HostEvent>(); }

  uint64_t WorkspaceBytes(const WorkspaceLimits& limits) const override {
    return HostWorkspaceBytes(limits, compute_.threads());
  }

 private:
  const DeviceSpec spec_;
  HostCompute compute_;
  AlignedBuffer arena_;
  std::mutex mutex_;                     // of progress_
  std::deque<StreamProgress> progress_;  // one per stream ever made; a deque's elements stay where they are
};

}  // namespace

Result<std::unique_ptr<Device>> MakeHostDevice(const DeviceSpec& spec, size_t threads) {
  if (threads > kMostThreads)
    return Fail(ErrorCode::kInvalidArgument,
                "--threads " + std::to_string(threads) + ": at most " + std::to_string(kMostThreads));
  return std::make_unique<HostDevice>(spec, threads == 0 ? UsableCores() : threads);
}

}  // namespace tidemill::gpu
