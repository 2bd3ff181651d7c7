#include "io/storage_speed.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/aligned_buffer.h"
#include "base/byte_size.h"
#include "io/bench_file.h"
#include "io/pump.h"

namespace tidemill::io {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kDepth = 16;
constexpr uint64_t kBlockBytes = kMiB;
constexpr double kSecondsMax = 0.5;

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Moves blocks from the file's beginning until `bytes_max` or the time is over. Returns how many bytes it were.
Result<uint64_t> MoveFor(Engine& engine, IoRequest::Op op, std::span<std::byte> memory, uint64_t bytes_max) {
  const auto start = Clock::now();
  uint64_t at = 0;
  const auto next = [&](size_t slot) -> std::optional<IoRequest> {
    if (at == bytes_max || (at > 0 && SecondsSince(start) > kSecondsMax)) return std::nullopt;
    const uint64_t bytes = std::min(kBlockBytes, bytes_max - at);
    const IoRequest request{.op = op, .offset_bytes = at, .buffer = memory.subspan(slot * kBlockBytes, bytes)};
    at += bytes;
    return request;
  };
  TM_RETURN_IF_ERROR(Pump(engine, kDepth, next, [](size_t) { return Ok(); }));
  return at;
}

}  // namespace

Result<StorageSpeed> MeasureSpeed(const BlockFile& file, EngineChoice engine) {
  TM_ASSIGN_OR_RETURN(const AlignedBuffer memory, AlignedBuffer::Allocate(kDepth * kBlockBytes));
  MakePattern(0, memory.span());  // a drive that compresses or deduplicates is not measured on zeros
  TM_ASSIGN_OR_RETURN(
      const OpenedEngine opened,
      OpenEngine({.choice = engine, .limits = {.depth = kDepth, .block_bytes = kBlockBytes, .requests_max = kDepth}}));
  opened.engine->AddFile(file);
  const uint64_t bytes_max = std::min(kSpeedBytesMax, file.capacity_bytes);

  StorageSpeed speed;
  auto start = Clock::now();
  TM_ASSIGN_OR_RETURN(const uint64_t written, MoveFor(*opened.engine, IoRequest::Op::kWrite, memory.span(), bytes_max));
  TM_RETURN_IF_ERROR(opened.engine->Flush());
  speed.write_bytes_per_s = static_cast<double>(written) / SecondsSince(start);
  // Without O_DIRECT the kernel would answer from memory.
  if (!file.direct) (void)::posix_fadvise(file.fd, 0, 0, POSIX_FADV_DONTNEED);
  start = Clock::now();
  TM_ASSIGN_OR_RETURN(const uint64_t read, MoveFor(*opened.engine, IoRequest::Op::kRead, memory.span(), written));
  speed.read_bytes_per_s = static_cast<double>(read) / SecondsSince(start);
  return speed;
}

}  // namespace tidemill::io
