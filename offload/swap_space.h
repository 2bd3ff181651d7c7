// The nvme tier: pages in swap files, checked on the way back.
//
// Every directory has one large preallocated file. A page has two slots if it is persistent, one if it is not; a write
// goes to the slot that the last write did not use. The checksum of a page (CRC-32C) is computed as it is written and
// verified as it is read: a wrong byte is an error that names page, file and offset, never a training step.
// docs/SWAP_FORMAT.md.
//
//   Ownership   claims the directories for the run (io/swap_directory.h), owns the files, removes all of it at the end.
//   Threads     any, side by side on different pages.
//   Limits      nothing is allocated after Open(), except the text of an error.
//   Errors      Open: kDoesNotFit (file system too small), kUnavailable (directory in use, engine refused), kIo.
//               Later: kStorage, kNoSpace, kCorrupt.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/io_queue.h"
#include "io/open_engine.h"
#include "io/swap_directory.h"
#include "io/swap_file.h"
#include "swap_scheduler/program.h"

namespace tidemill::offload {

struct SwapConfig {
  std::vector<std::string> directories;
  std::string identity;                                        // of the run; the same when it is resumed
  io::LeftoverPolicy leftovers = io::LeftoverPolicy::kRefuse;  // of another, dead run
  io::EngineChoice engine = io::EngineChoice::kAuto;
  double read_bytes_per_s = 0, write_bytes_per_s = 0;  // throttles; 0: none
};

// A page of the tier; 0 bytes: it does not live on nvme.
struct SwapPage {
  std::string name;
  uint64_t bytes = 0;
  bool persistent = false;
};

class SwapSpace {
 public:
  ~SwapSpace();

  // `registered`: the memory that transfers will use most, for registration with the kernel.
  static Result<std::unique_ptr<SwapSpace>> Open(const SwapConfig& config, std::vector<SwapPage> pages,
                                                 std::span<std::byte> registered);

  // `bytes`: 4096-aligned, of the page's size or less.
  Status ReadPage(swap_scheduler::PageId page, std::span<std::byte> bytes);
  Status WritePage(swap_scheduler::PageId page, std::span<std::byte> bytes);

  // What had to fall back, a line each, for people.
  const std::vector<std::string>& notes() const { return notes_; }
  std::string_view engine_name() const { return queue_->engine_name(); }
  uint64_t file_bytes() const;
  // Bytes that went through the page cache, copied once more by the kernel: none with O_DIRECT.
  uint64_t buffered_bytes() const;

 private:
  struct Place {
    SwapPage page;
    uint32_t file = 0;
    std::array<uint64_t, 2> slot_offset{};
    std::array<uint32_t, 2> checksum{};
    uint8_t current = 0;  // the slot that was written last
    bool written = false;
  };
  // Sleeps until the link would have moved the bytes.
  class Throttle {
   public:
    explicit Throttle(double bytes_per_s) : bytes_per_s_(bytes_per_s) {}
    void Pass(std::chrono::steady_clock::time_point started, uint64_t bytes) const;

   private:
    double bytes_per_s_;
  };

  SwapSpace(const SwapConfig& config, std::vector<SwapPage> pages);
  std::vector<uint64_t> AssignSlots(size_t files);
  Status Claim(const SwapConfig& config);
  Status OpenQueue(const SwapConfig& config, std::span<std::byte> registered);
  Status Transfer(io::IoRequest::Op op, const Place& place, uint8_t slot, std::span<std::byte> bytes);

  std::vector<Place> places_;  // by page id
  std::vector<io::SwapDirectory> directories_;
  std::vector<io::SwapFile> files_;
  std::unique_ptr<io::IoQueue> queue_;  // gone before the files
  const Throttle read_throttle_, write_throttle_;
  std::vector<std::string> notes_;
};

}  // namespace tidemill::offload
