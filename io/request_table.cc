#include "io/request_table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace tidemill::io {

RequestTable::RequestTable(size_t requests_max, uint64_t block_bytes, size_t depth)
    : block_bytes_(block_bytes), depth_(depth), slots_(requests_max) {
  TM_CHECK(requests_max > 0 && requests_max < kNone && depth > 0);
  TM_CHECK(block_bytes > 0 && block_bytes % kAlignmentBytes == 0);
  free_.reserve(requests_max);
  for (size_t i = requests_max; i > 0; --i) free_.push_back(static_cast<uint32_t>(i - 1));
}

void RequestTable::AddFile() { files_.emplace_back(); }

RequestTable::Queue& RequestTable::QueueOf(uint32_t slot) {
  const IoRequest& request = slots_[slot].request;
  return files_[request.file].queues[static_cast<size_t>(request.priority)];
}

void RequestTable::Push(const IoRequest& request) {
  TM_CHECK(!free_.empty() && !request.buffer.empty() && request.file < files_.size());
  const uint32_t slot = free_.back();
  free_.pop_back();
  slots_[slot].request = request;
  slots_[slot].started_bytes = 0;
  slots_[slot].next = kNone;
  Queue& queue = QueueOf(slot);
  (queue.head == kNone ? queue.head : slots_[queue.tail].next) = slot;
  queue.tail = slot;
}

std::optional<Priority> RequestTable::Choose(const File& file) {
  const auto waiting = [&](Priority p) { return file.queues[static_cast<size_t>(p)].head != kNone; };
  if (waiting(Priority::kDemand)) return Priority::kDemand;
  if (waiting(Priority::kPrefetch) && waiting(Priority::kWriteBack))
    return file.prefetch_lead_bytes <= 0 ? Priority::kPrefetch : Priority::kWriteBack;
  if (waiting(Priority::kPrefetch)) return Priority::kPrefetch;
  if (waiting(Priority::kWriteBack)) return Priority::kWriteBack;
  return std::nullopt;
}

std::optional<Piece> RequestTable::Next() {
  for (size_t i = 0; i < files_.size(); ++i) {
    const size_t index = (turn_ + i) % files_.size();
    File& file = files_[index];
    if (file.pieces_in_flight >= std::max<size_t>(depth_ / files_.size(), 1)) continue;
    if (const auto priority = Choose(file)) {
      turn_ = index + 1;
      return Take(file, *priority);
    }
  }
  return std::nullopt;
}

Piece RequestTable::Take(File& file, Priority priority) {
  Queue& queue = file.queues[static_cast<size_t>(priority)];
  const uint32_t index = queue.head;
  Slot& slot = slots_[index];
  const uint64_t begin = slot.started_bytes;
  const uint64_t end = std::min<uint64_t>(slot.request.buffer.size(), begin + block_bytes_);
  slot.started_bytes = end;
  ++slot.pieces_in_flight;
  ++file.pieces_in_flight;

  const auto bytes = static_cast<int64_t>(end - begin);
  if (priority == Priority::kPrefetch) file.prefetch_lead_bytes += bytes;
  if (priority == Priority::kWriteBack) file.prefetch_lead_bytes -= bytes;
  if (end == slot.request.buffer.size()) PopHead(queue);
  // Who had the drive alone owes nothing to who comes later.
  const auto& prefetch = file.queues[static_cast<size_t>(Priority::kPrefetch)];
  const auto& write_back = file.queues[static_cast<size_t>(Priority::kWriteBack)];
  if (prefetch.head == kNone || write_back.head == kNone) file.prefetch_lead_bytes = 0;
  return Piece{index, begin, end};
}

void RequestTable::PopHead(Queue& queue) {
  queue.head = slots_[queue.head].next;
  if (queue.head == kNone) queue.tail = kNone;
}

std::optional<IoCompletion> RequestTable::Finish(const Piece& piece, Status status) {
  Slot& slot = slots_[piece.slot];
  TM_CHECK(slot.pieces_in_flight > 0);
  --slot.pieces_in_flight;
  --files_[slot.request.file].pieces_in_flight;
  if (!status && slot.status) {
    slot.status = std::move(status);
    // Pieces of one queue are taken from its head only, so a half-started request is its queue's head.
    if (slot.started_bytes < slot.request.buffer.size()) {
      PopHead(QueueOf(piece.slot));
      slot.started_bytes = slot.request.buffer.size();
    }
  }
  if (slot.pieces_in_flight > 0 || slot.started_bytes < slot.request.buffer.size()) return std::nullopt;
  free_.push_back(piece.slot);
  return IoCompletion{slot.request.tag, std::exchange(slot.status, Ok())};
}

void RequestTable::DropWaiting() {
  for (File& file : files_) {
    for (Queue& queue : file.queues) {
      while (queue.head != kNone) {
        Slot& slot = slots_[queue.head];
        slot.started_bytes = slot.request.buffer.size();
        if (slot.pieces_in_flight == 0) free_.push_back(queue.head);
        PopHead(queue);
      }
    }
  }
}

}  // namespace tidemill::io
