// Where every byte of model state lives: an arena on the device, one in host memory, swap files.
//
// The store knows homes and moves whole pages in and out of them between steps (loading, saving). Within a step the
// engine (offload/engine.h) moves pages by the plan, over the same arenas.
//
//   Ownership   the store owns the host arena and the swap space; the device owns its arena.
//   Threads     one thread at a time, and none while the engine carries out a step.
//   Limits      everything is allocated in Create(): the run cannot run out of memory later.
//   Errors      Create: kUnavailable (memory), kDoesNotFit (swap directory). Later kStorage, kNoSpace and kCorrupt of
//               the swap files.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "gpu/device.h"
#include "offload/swap_space.h"
#include "swap_scheduler/program.h"

namespace tidemill::offload {

// A persistent page's home, and how large it is.
struct PageHome {
  swap_scheduler::Tier tier = swap_scheduler::Tier::kDevice;
  uint64_t offset = 0;  // in the tier's page arena; nvme: the swap space's own matter
  uint64_t bytes = 0;
};

struct StoreConfig {
  uint64_t device_pages_offset = 0;  // where the pages begin in the device's arena; what is before it is the caller's
  uint64_t host_arena_bytes = 0;     // peak over all programs
  std::vector<PageHome> homes;       // of each persistent page: pages 0 .. homes.size() - 1 of every program
  SwapConfig swap;
  std::vector<SwapPage> swap_pages;  // by page id, of every program; all of 0 bytes: no nvme tier
};

class Store {
 public:
  static Result<std::unique_ptr<Store>> Create(gpu::Device& device, StoreConfig config);

  // Over what a run left in swap files: to be read only. `homes`: of each page of the record, all on nvme.
  static Result<std::unique_ptr<Store>> OverCommitted(gpu::Device& device, std::vector<PageHome> homes,
                                                      const CommitRecord& record);

  gpu::Device& device() { return device_; }
  std::byte* DevicePages() const { return device_.Arena() + config_.device_pages_offset; }
  std::byte* HostPages() const { return host_.data(); }
  SwapSpace* swap() { return swap_.get(); }  // null without an nvme tier

  // Whether every persistent page lives on nvme, so that a step can be committed there.
  bool AllOnNvme() const;

  uint64_t PageBytes(swap_scheduler::PageId page) const { return config_.homes[page].bytes; }
  const PageHome& home(swap_scheduler::PageId page) const { return config_.homes[page]; }

  // Between steps: a persistent page's bytes to and from its home. `bytes` is 4096-aligned host memory of the page's
  // size.
  Status Read(swap_scheduler::PageId page, std::span<std::byte> bytes);
  Status Write(swap_scheduler::PageId page, std::span<std::byte> bytes);

 private:
  Store(gpu::Device& device, StoreConfig config) : device_(device), config_(std::move(config)) {}

  gpu::Device& device_;
  const StoreConfig config_;
  AlignedBuffer host_;
  std::unique_ptr<SwapSpace> swap_;
  std::unique_ptr<gpu::Stream> stream_;  // for copies between steps
};

}  // namespace tidemill::offload
