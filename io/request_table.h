// Requests that are not finished, and the choice of what is started next. Pure bookkeeping: no file, no clock.
//
// Three queues for each file, one per priority, each first come first served. A request is started piece by piece (at
// most `block_bytes` each), so that a demand never waits for more than the pieces that are already with the drive:
//   1. demands, strictly first: computation is waiting for them;
//   2. prefetch and write-back, whichever has been given fewer bytes while both were waiting.
// Files are other drives, perhaps: they take turns, and none has more than an even part of the depth in flight, so that
// a slow one never holds up the others.
//
//   Threads   one at a time.
//   Limits    at most `requests_max` at once; nothing is allocated after construction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "io/block_file.h"

namespace tidemill::io {

// Bytes [begin, end) of the buffer of the request in `slot`.
struct Piece {
  uint32_t slot;
  uint64_t begin, end;
};

class RequestTable {
 public:
  // `depth`: pieces in flight at once, over all files.
  RequestTable(size_t requests_max, uint64_t block_bytes, size_t depth);

  void AddFile();  // numbers files 0, 1, 2…

  size_t size() const { return slots_.size() - free_.size(); }
  size_t capacity() const { return slots_.size(); }
  const IoRequest& request(uint32_t slot) const { return slots_[slot].request; }

  void Push(const IoRequest& request);  // its buffer is not empty, its file was added; size() < capacity()

  std::optional<Piece> Next();

  // The piece is over; the first error of a request stays, and pieces not yet started are then left out. Returns what
  // became of the request once its last piece is over, and forgets it.
  std::optional<IoCompletion> Finish(const Piece& piece, Status status);

  // Forgets everything that has not been started.
  void DropWaiting();

 private:
  struct Slot {
    IoRequest request;
    uint64_t started_bytes = 0;
    uint32_t pieces_in_flight = 0;
    Status status;
    uint32_t next = kNone;  // in the queue of its priority
  };
  struct Queue {
    uint32_t head = kNone, tail = kNone;
  };
  struct File {
    std::array<Queue, kPriorities> queues;
    int64_t prefetch_lead_bytes = 0;  // prefetch minus write-back, started while both were waiting
    size_t pieces_in_flight = 0;
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  static std::optional<Priority> Choose(const File& file);
  Queue& QueueOf(uint32_t slot);
  Piece Take(File& file, Priority priority);
  void PopHead(Queue& queue);

  const uint64_t block_bytes_;
  const size_t depth_;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
  std::vector<File> files_;
  size_t turn_ = 0;  // of files_: asked first
};

}  // namespace tidemill::io
