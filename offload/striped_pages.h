// Pages in the files of an engine: cut into extents, two slots each, checked on the way back.
//
// A page moves all its extents at once, so that one page read or write uses every file's drive; checksums are computed
// while other parts of the page move. A write goes to the
// slot that the last commit does not name, and before the first commit to the one that the last write did not use. Each
// extent has its own checksum (CRC-32C), computed as it is written and verified as it is read: a wrong byte is an error
// that names page, file and offset, never a training step. docs/SWAP_FORMAT.md.
//
//   Ownership   owns the queue. The files stay the caller's, and outlive this.
//   Threads     any, side by side on different pages.
//   Limits      nothing is allocated after construction, except the text of errors.
//   Errors      kStorage, kNoSpace, kCorrupt.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/io_queue.h"
#include "offload/stripe_layout.h"
#include "swap_scheduler/program.h"

namespace tidemill::offload {

// A page of the tier; 0 bytes: it does not live on nvme.
struct SwapPage {
  std::string name;
  uint64_t bytes = 0;
  bool persistent = false;  // has two slots
};

// What has to be known of a page to find and to check its bytes.
struct PageRecord {
  struct Extent {
    StripeExtent place;
    std::array<uint32_t, 2> checksum{};  // of what was last written to each slot
  };
  SwapPage page;
  std::vector<Extent> extents;
  uint8_t current = 0;  // the slot that was written last
  bool written = false;
  std::optional<uint8_t> committed{};  // the slot that the last commit names

  uint8_t SlotToWrite() const;
};

class StripedPages {
 public:
  // The engine has the layout's files, in its order, and nothing has been submitted to it. It takes a request for each
  // of its files at once, and more than one page's at a time if lanes are to run side by side.
  StripedPages(std::vector<SwapPage> pages, const StripeLayout& layout, std::unique_ptr<io::Engine> engine);

  // Pages that are in the engine's files already.
  StripedPages(std::vector<PageRecord> records, std::unique_ptr<io::Engine> engine);

  // `bytes`: 4096-aligned, of the page's size or less; reads exactly what the last write wrote.
  Status Read(swap_scheduler::PageId page, std::span<std::byte> bytes);
  Status Write(swap_scheduler::PageId page, std::span<std::byte> bytes);

  // Makes every write that is over durable. Waits for the drives.
  Status Flush() const { return queue_.Flush(); }
  // What was last written of the persistent pages is kept from now on, until the next call. No transfer is under way.
  void MarkCommitted();

  const std::vector<PageRecord>& records() const { return records_; }  // by page id
  const io::IoQueue& queue() const { return queue_; }

 private:
  void Submit(io::IoRequest::Op op, const PageRecord& record, uint8_t slot, std::span<std::byte> bytes, size_t part,
              io::IoBatch& batch);
  Status CheckPresent(const PageRecord& record) const;

  std::vector<io::BlockFile> files_;
  std::vector<PageRecord> records_;
  io::IoQueue queue_;
};

// The pages as the layout sees them.
std::vector<StripePage> StripePages(std::span<const SwapPage> pages);

}  // namespace tidemill::offload
