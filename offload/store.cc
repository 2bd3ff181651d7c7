#include "offload/store.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace tidemill::offload {

using swap_scheduler::PageId;
using swap_scheduler::Tier;

Result<std::unique_ptr<Store>> Store::Create(gpu::Device& device, StoreConfig config) {
  std::unique_ptr<Store> store(new Store(device, std::move(config)));
  const StoreConfig& wanted = store->config_;
  TM_ASSIGN_OR_RETURN(store->host_, AlignedBuffer::Allocate(wanted.host_arena_bytes));
  TM_RETURN_IF_ERROR(device.PinHostMemory(store->host_.span()));
  const bool has_nvme = std::any_of(wanted.swap_pages.begin(), wanted.swap_pages.end(),
                                    [](const SwapPage& page) { return page.bytes > 0; });
  if (has_nvme) {
    TM_ASSIGN_OR_RETURN(store->swap_, SwapSpace::Open(wanted.swap, wanted.swap_pages, store->host_.span()));
  }
  store->stream_ = device.NewStream("store", {});
  return store;
}

Result<std::unique_ptr<Store>> Store::OverCommitted(gpu::Device& device, std::vector<PageHome> homes,
                                                    const CommitRecord& record) {
  StoreConfig config;
  config.homes = std::move(homes);
  std::unique_ptr<Store> store(new Store(device, std::move(config)));
  TM_ASSIGN_OR_RETURN(store->swap_, SwapSpace::OpenCommitted(record));
  return store;
}

bool Store::AllOnNvme() const {
  return std::all_of(config_.homes.begin(), config_.homes.end(),
                     [](const PageHome& home) { return home.tier == Tier::kNvme; });
}

Status Store::Read(PageId page, std::span<std::byte> bytes) {
  const PageHome& home = config_.homes[page];
  TM_CHECK(bytes.size() == home.bytes);
  switch (home.tier) {
    case Tier::kDevice:
      stream_->CopyToHost(bytes, DevicePages() + home.offset);
      return stream_->Synchronize();
    case Tier::kHost:
      std::memcpy(bytes.data(), HostPages() + home.offset, bytes.size());
      return Ok();
    case Tier::kNvme:
      return swap_->ReadPage(page, bytes);
  }
  TM_CHECK(false);
}

Status Store::Write(PageId page, std::span<std::byte> bytes) {
  const PageHome& home = config_.homes[page];
  TM_CHECK(bytes.size() == home.bytes);
  switch (home.tier) {
    case Tier::kDevice:
      stream_->CopyToDevice(DevicePages() + home.offset, bytes);
      return stream_->Synchronize();
    case Tier::kHost:
      std::memcpy(HostPages() + home.offset, bytes.data(), bytes.size());
      return Ok();
    case Tier::kNvme:
      return swap_->WritePage(page, bytes);
  }
  TM_CHECK(false);
}

}  // namespace tidemill::offload
