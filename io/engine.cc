#include "io/engine.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "io/io_error.h"

namespace tidemill::io {
namespace {

// The kernel says "again" when it is short of memory for a request; for ever means that it is broken.
constexpr uint32_t kRetriesMax = 10'000;

}  // namespace

Engine::Engine(std::unique_ptr<Transport> transport, const EngineLimits& limits)
    : limits_(limits), transport_(std::move(transport)), table_(limits.requests_max, limits.block_bytes, limits.depth) {
  TM_CHECK(limits.depth > 0 && transport_->Depth() == limits.depth && limits.block_bytes <= kGiB);
  files_.reserve(Transport::kFilesMax);
  ops_.resize(limits.depth);
  free_ops_.reserve(limits.depth);
  for (size_t i = limits.depth; i > 0; --i) free_ops_.push_back(static_cast<uint32_t>(i - 1));
  resumed_.reserve(limits.depth);
  batch_.reserve(limits.depth);
  results_.resize(limits.depth);
  completed_.reserve(limits.requests_max);
}

Engine::~Engine() {
  table_.DropWaiting();
  // The drive may still be writing into the caller's memory: that must end before the caller frees it.
  for (size_t in_flight = limits_.depth - free_ops_.size() - resumed_.size(); in_flight > 0 && broken_;) {
    const auto count = transport_->Collect(results_, 1);
    if (!count) break;
    in_flight -= *count;
  }
}

uint32_t Engine::AddFile(const BlockFile& file) {
  TM_CHECK(files_.size() < Transport::kFilesMax);
  const auto index = static_cast<uint32_t>(files_.size());
  transport_->AddFile(index, file.fd);
  table_.AddFile();
  files_.push_back(file);
  return index;
}

Status Engine::CheckRange(const IoRequest& request) const {
  TM_CHECK(request.file < files_.size());
  TM_CHECK(request.offset_bytes % kAlignmentBytes == 0 && request.buffer.size() % kAlignmentBytes == 0);
  TM_CHECK(reinterpret_cast<uintptr_t>(request.buffer.data()) % kAlignmentBytes == 0);
  const BlockFile& file = files_[request.file];
  const uint64_t size = request.buffer.size();
  if (size <= file.capacity_bytes && request.offset_bytes <= file.capacity_bytes - size) return Ok();
  return Fail(ErrorCode::kInvalidArgument, "a request of " + std::to_string(size) + " bytes ends past the file (" +
                                               file.path + " at offset " + std::to_string(request.offset_bytes) +
                                               "): it has " + std::to_string(file.capacity_bytes) + " bytes");
}

Status Engine::Submit(std::span<const IoRequest> requests) {
  TM_RETURN_IF_ERROR(Status(broken_));
  TM_CHECK(outstanding() + requests.size() <= limits_.requests_max);
  for (const IoRequest& request : requests) TM_RETURN_IF_ERROR(CheckRange(request));
  for (const IoRequest& request : requests) {
    if (request.buffer.empty()) {
      completed_.push_back({request.tag, Ok()});
    } else {
      table_.Push(request);
    }
  }
  return StartWaiting();
}

Status Engine::StartWaiting() {
  batch_.clear();
  for (const uint32_t id : resumed_) batch_.push_back(MakeRawOp(id));
  resumed_.clear();
  while (!free_ops_.empty()) {
    const auto piece = table_.Next();
    if (!piece) break;
    const uint32_t id = free_ops_.back();
    free_ops_.pop_back();
    ops_[id] = {*piece, piece->begin, 0};
    batch_.push_back(MakeRawOp(id));
  }
  if (!batch_.empty()) broken_ = transport_->Start(batch_);
  return broken_;
}

RawOp Engine::MakeRawOp(uint32_t id) const {
  const Piece& piece = ops_[id].piece;
  const IoRequest& request = table_.request(piece.slot);
  return {request.op,
          request.file,
          request.buffer.data() + piece.begin,
          piece.end - piece.begin,
          request.offset_bytes + piece.begin,
          id};
}

Result<size_t> Engine::Reap(std::span<IoCompletion> done, size_t wait_for) {
  TM_CHECK(wait_for <= done.size() && wait_for <= outstanding());
  do {
    TM_RETURN_IF_ERROR(Status(broken_));
    if (free_ops_.size() == limits_.depth) break;  // nothing is with the drive
    const size_t need = completed_.size() < wait_for ? 1 : 0;
    TM_ASSIGN_OR_RETURN(const size_t collected, transport_->Collect(results_, need));
    for (const RawResult& result : std::span(results_).first(collected)) Handle(result);
    TM_RETURN_IF_ERROR(StartWaiting());
  } while (completed_.size() < wait_for && !woken_.exchange(false));
  const size_t count = std::min(done.size(), completed_.size());
  for (size_t i = 0; i < count; ++i) {
    done[i] = std::move(completed_.back());
    completed_.pop_back();
  }
  return count;
}

void Engine::Handle(const RawResult& result) {
  Op& op = ops_[result.id];
  Piece& piece = op.piece;
  const IoRequest& request = table_.request(piece.slot);
  const BlockFile& file = files_[request.file];
  const bool reading = request.op == IoRequest::Op::kRead;
  const uint64_t at = request.offset_bytes + op.first, expected = piece.end - op.first, before = piece.begin - op.first;

  if (result.moved == -EINTR || result.moved == -EAGAIN) {
    if (++op.retries_without_progress <= kRetriesMax) return Resume(result.id);
  }
  if (result.moved < 0) {
    const auto error_number = static_cast<int>(-result.moved);
    return Close(result.id, tl::make_unexpected(TransferError(file, request.op, at, expected, before, error_number)));
  }
  const auto moved = static_cast<uint64_t>(result.moved);
  TM_CHECK(moved <= piece.end - piece.begin);
  // A direct transfer goes on only from an aligned place: a block that moved in part is moved again.
  const uint64_t reached = piece.begin + moved;
  const uint64_t goes_on = reached == piece.end ? reached : reached / kAlignmentBytes * kAlignmentBytes;
  if (goes_on == piece.begin) {
    const Error error = reading ? EndOfFileError(file, at, expected, before + moved)
                                : TransferError(file, request.op, at, expected, before + moved, EIO);
    return Close(result.id, tl::make_unexpected(error));
  }
  const uint64_t progress = goes_on - piece.begin;
  (reading ? counters_.read_bytes : counters_.written_bytes) += progress;
  if (!file.direct) counters_.buffered_bytes += progress;
  piece.begin = goes_on;
  op.retries_without_progress = 0;
  if (piece.begin < piece.end) return Resume(result.id);
  ++(reading ? counters_.read_pieces : counters_.written_pieces);
  Close(result.id, Ok());
}

void Engine::Resume(uint32_t id) {
  ++counters_.resumed_pieces;
  resumed_.push_back(id);
}

void Engine::Close(uint32_t id, Status status) {
  if (auto completion = table_.Finish(ops_[id].piece, std::move(status))) completed_.push_back(std::move(*completion));
  free_ops_.push_back(id);
}

void Engine::Wake() {
  woken_ = true;  // the transport forgets a wake that it was not waiting for
  transport_->Wake();
}

Status Engine::Flush() const { return FlushFiles(files_); }

Status FlushFiles(std::span<const BlockFile> files) {
  for (const BlockFile& file : files) {
    int result = 0;
    do {
      result = ::fdatasync(file.fd);
    } while (result != 0 && errno == EINTR);
    if (result == 0) continue;
    const int error_number = errno;
    const auto code = error_number == ENOSPC || error_number == EDQUOT ? ErrorCode::kNoSpace : ErrorCode::kStorage;
    return Fail(code, "flush failed: " + DescribeErrno(error_number) + " (" + file.path +
                          "): what was written since the last flush may be lost; check the drive");
  }
  return Ok();
}

}  // namespace tidemill::io
