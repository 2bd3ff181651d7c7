// The nvme tier: pages in swap files, over one directory or striped over several.
//
// Claims the directories, divides the pages among them (offload/stripe_planning.h), makes one large preallocated file
// in each, and moves pages through them (offload/striped_pages.h). docs/SWAP_FORMAT.md.
//
//   Ownership   claims the directories for the run (io/swap_directory.h), owns the files, removes all of it at the end
//               unless told to keep it.
//   Durability  Commit(): what was written of the persistent pages survives this process, the machine and its power.
//   Threads     any, side by side on different pages.
//   Limits      transfers allocate nothing, except the text of an error.
//   Errors      Open: kDoesNotFit (file systems too small), kUnavailable (directory in use, engine refused), kIo; with
//               several directories, which are measured, also those below.
//               Later: kStorage, kNoSpace, kCorrupt.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_size.h"
#include "base/result.h"
#include "io/open_engine.h"
#include "io/storage_speed.h"
#include "io/swap_directory.h"
#include "io/swap_file.h"
#include "offload/commit_record.h"
#include "offload/striped_pages.h"
#include "swap_scheduler/program.h"

namespace tidemill::offload {

struct SwapConfig {
  std::vector<std::string> directories;                        // at most io::Transport::kFilesMax
  std::vector<io::StorageSpeed> speeds = {};                   // of each, from a profile; empty: several are measured
  std::string identity;                                        // of the run; the same when it is resumed
  io::LeftoverPolicy leftovers = io::LeftoverPolicy::kRefuse;  // of another, dead run
  io::EngineChoice engine = io::EngineChoice::kAuto;
  uint64_t block_bytes = kMiB;  // a page moves in pieces of this size, a multiple of io::kAlignmentBytes
  size_t depth = 32;            // pieces with the drives at once
  double read_bytes_per_s = 0, write_bytes_per_s = 0;  // throttles of the whole tier; 0: none
};

class SwapSpace {
 public:
  ~SwapSpace();

  // `registered`: the memory that transfers will use most, for registration with the kernel.
  static Result<std::unique_ptr<SwapSpace>> Open(const SwapConfig& config, std::vector<SwapPage> pages,
                                                 std::span<std::byte> registered);

  // What an earlier run committed, to be read only; page ids count the record's pages. Keeps every run out of the
  // directories. kUnavailable: a live run has them; kCorrupt: files are missing or short.
  static Result<std::unique_ptr<SwapSpace>> OpenCommitted(const CommitRecord& record);

  // Makes what was written durable. Waits for the drives.
  Status Flush() const { return pages_->Flush(); }
  // Flushes, and records the persistent pages, all of which were written, as one committed state; `run` goes into the
  // record. Between transfers.
  Status Commit(const std::string& run);
  // The files stay when this is destroyed.
  void KeepFiles();

  // `bytes`: 4096-aligned, of the page's size or less.
  Status ReadPage(swap_scheduler::PageId page, std::span<std::byte> bytes);
  Status WritePage(swap_scheduler::PageId page, std::span<std::byte> bytes);

  // What had to fall back, and how several directories share the pages: a line each, for people.
  const std::vector<std::string>& notes() const { return notes_; }
  std::string_view engine_name() const { return pages_->queue().engine_name(); }
  uint64_t file_bytes() const;
  // Bytes that went through the page cache, copied once more by the kernel: none with O_DIRECT.
  uint64_t buffered_bytes() const;

 private:
  // Sleeps until the link would have moved the bytes.
  class Throttle {
   public:
    explicit Throttle(double bytes_per_s) : bytes_per_s_(bytes_per_s) {}
    void Pass(std::chrono::steady_clock::time_point started, uint64_t bytes) const;

   private:
    double bytes_per_s_;
  };

  explicit SwapSpace(const SwapConfig& config);
  Status OpenCommittedFiles(const CommitRecord& record);
  Status Claim(const SwapConfig& config);
  Status MakeFiles(const StripeLayout& layout);
  Result<std::unique_ptr<io::Engine>> OpenEngine(const SwapConfig& config, std::span<std::byte> registered);

  std::vector<io::SwapDirectory> directories_;
  std::vector<io::UniqueFd> reading_locks_;
  std::vector<io::SwapFile> files_;
  std::unique_ptr<StripedPages> pages_;  // gone before the files
  const Throttle read_throttle_, write_throttle_;
  std::vector<std::string> notes_;
  bool keep_ = false;
};

}  // namespace tidemill::offload
