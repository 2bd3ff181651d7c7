// Moves aligned bytes between memory and several open files, in batches, completed out of order.
//
// One engine over one transport (io_uring, libaio or POSIX threads): the transport moves, the engine decides what is
// started next (io/request_table.h), cuts large requests, resumes short transfers, retries interrupted ones and turns
// every result into a completion. Requests of any size, over 2 GiB too, are one completion each.
//
//   Ownership   buffers and descriptors stay the caller's; the engine borrows buffers from Submit() to the completion,
//               descriptors for its whole life. Its destructor waits for the pieces that are with the drive.
//   Threads     one at a time; only Wake() is for any thread at any time. io/io_queue.h serves many threads.
//   Order       none: two requests on the same bytes may pass each other. Wait for the first.
//   Durability  a write may be lost in a power cut until a later Flush() returns Ok.
//   Errors      of a request: in its completion. Of Submit() and Reap() themselves: kInvalidArgument for a range past
//               the file's capacity, kStorage when the kernel interface broke; the engine is then of no more use.
//   Limits      EngineLimits; more requests than that is a caller's bug. Nothing is allocated after construction,
//               except the text of errors.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/byte_size.h"
#include "base/result.h"
#include "io/block_file.h"
#include "io/request_table.h"
#include "io/transport.h"

namespace tidemill::io {

struct EngineLimits {
  size_t depth = 32;                // pieces with the drives at once; a file has an even part of it, 1 at least
  uint64_t block_bytes = 4 * kMiB;  // the largest piece; a multiple of kAlignmentBytes, at most 1 GiB
  size_t requests_max = 4096;       // submitted and not yet reaped
};

struct EngineCounters {
  uint64_t read_bytes = 0, written_bytes = 0;
  uint64_t read_pieces = 0, written_pieces = 0;
  uint64_t resumed_pieces = 0;  // started again after a short or interrupted transfer
  uint64_t buffered_bytes = 0;  // of the above, through the page cache: copied once more by the kernel
};

class Engine {
 public:
  // The transport's depth is limits.depth.
  Engine(std::unique_ptr<Transport> transport, const EngineLimits& limits);
  ~Engine();
  Engine(const Engine&) = delete;

  std::string_view name() const { return transport_->Name(); }
  const EngineLimits& limits() const { return limits_; }
  const EngineCounters& counters() const { return counters_; }
  size_t outstanding() const { return table_.size() + completed_.size(); }

  // Numbers files 0, 1, 2…; at most Transport::kFilesMax.
  uint32_t AddFile(const BlockFile& file);
  uint32_t file_count() const { return static_cast<uint32_t>(files_.size()); }
  const BlockFile& file(uint32_t index) const { return files_[index]; }

  // Takes every request, or none and says why. Never blocks on the storage.
  Status Submit(std::span<const IoRequest> requests);

  // Waits for at least `wait_for` completions or for Wake(), writes them to `done` and returns how many.
  Result<size_t> Reap(std::span<IoCompletion> done, size_t wait_for);

  // Makes a waiting Reap() return early, perhaps with nothing. Any thread.
  void Wake();

  // Makes every write that was reaped before durable. Waits for the drives.
  Status Flush() const;

 private:
  struct Op {
    Piece piece;     // what is left of it
    uint64_t first;  // where it began
    uint32_t retries_without_progress;
  };

  Status CheckRange(const IoRequest& request) const;
  Status StartWaiting();
  RawOp MakeRawOp(uint32_t id) const;
  void Handle(const RawResult& result);
  void Resume(uint32_t id);
  void Close(uint32_t id, Status status);

  const EngineLimits limits_;
  const std::unique_ptr<Transport> transport_;
  std::vector<BlockFile> files_;
  RequestTable table_;
  std::vector<Op> ops_;             // by operation id
  std::vector<uint32_t> free_ops_;  // ids
  std::vector<uint32_t> resumed_;   // ids to be started again, before anything new
  std::vector<RawOp> batch_;
  std::vector<RawResult> results_;
  std::vector<IoCompletion> completed_;  // not yet reaped, any order
  EngineCounters counters_;
  Status broken_;
  std::atomic<bool> woken_ = false;
};

// Makes everything written to these files durable (fdatasync). Any thread.
Status FlushFiles(std::span<const BlockFile> files);

}  // namespace tidemill::io
