// What io_uring, libaio and pread/pwrite have in common: start some raw operations, collect some results.
//
// The engine (io/engine.h) builds everything else on this: priorities, cutting, resuming, messages. So a transport
// may move less than it was asked to, and says what the kernel said.
//
//   Threads     one at a time; only Wake() is for any thread at any time.
//   Ownership   buffers and descriptors are borrowed until the result is collected.
//   Limits      at most Depth() operations in flight, with ids below Depth(); nothing is allocated after Open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/block_file.h"

namespace tidemill::io {

struct RawOp {
  IoRequest::Op op;
  uint32_t file;
  std::byte* address;
  size_t bytes;  // at least 1
  uint64_t offset_bytes;
  uint32_t id;  // unique among those in flight
};

struct RawResult {
  uint32_t id;
  int64_t moved;  // bytes, perhaps fewer than asked; or a negative errno
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual std::string_view Name() const = 0;
  virtual size_t Depth() const = 0;

  // Files are numbered 0, 1, 2… by the caller, at most kFilesMax, before the first operation on them.
  static constexpr uint32_t kFilesMax = 64;
  virtual void AddFile(uint32_t index, int fd) = 0;

  // Starts every operation without waiting for the storage. An error means that the kernel interface itself broke.
  virtual Status Start(std::span<const RawOp> ops) = 0;

  // Waits for at least `wait_for` results or for Wake(), writes them to `results` and returns how many.
  virtual Result<size_t> Collect(std::span<RawResult> results, size_t wait_for) = 0;

  // Makes the Collect() that is waiting, or else the next one, return early.
  virtual void Wake() = 0;
};

// Memory that buffers will come from, to be registered with the kernel where that is possible: faster, never needed.
using Arenas = std::vector<std::span<std::byte>>;

// Each is kUnavailable where this machine refuses it; the message says "refused", why, and how to allow it. `notes`
// receives a line for each thing that was refused on the way without being needed.
Result<std::unique_ptr<Transport>> OpenUringTransport(size_t depth, const Arenas& arenas,
                                                      std::vector<std::string>& notes);
Result<std::unique_ptr<Transport>> OpenAioTransport(size_t depth);
std::unique_ptr<Transport> OpenPosixTransport(size_t depth);  // never refused

}  // namespace tidemill::io
