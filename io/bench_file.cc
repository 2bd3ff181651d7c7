#include "io/bench_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/byte_size.h"
#include "base/check.h"
#include "io/io_error.h"
#include "io/open_engine.h"
#include "io/pump.h"

namespace tidemill::io {
namespace {

constexpr size_t kDepth = 8;
constexpr uint64_t kPartBytes = 4 * kMiB;

uint64_t PatternWord(uint64_t index) {
  const uint64_t mixed = (index + 1) * 0x9e3779b97f4a7c15U;
  return mixed ^ (mixed >> 29);
}

Status Interrupted() {
  return Fail(ErrorCode::kInterrupted, "stopped by a signal: the bench file is gone or as it was");
}

Status CheckSpace(const std::string& directory, uint64_t need_bytes) {
  const auto free_bytes = FreeBytes(directory);
  if (!free_bytes) return tl::make_unexpected(FileError("cannot use the swap directory", directory, errno));
  if (need_bytes <= *free_bytes) return Ok();
  return Fail(ErrorCode::kDoesNotFit, "the bench file does not fit (" + directory + ": needs " +
                                          FormatBytes(need_bytes) + ", free " + FormatBytes(*free_bytes) +
                                          "): pass a smaller --size or free some space");
}

// Moves [begin, end) in parts; `ready` sees each before a write and after a read.
template <typename Ready>
Status MoveParts(const BlockFile& file, IoRequest::Op op, uint64_t begin, uint64_t end, const StopQuestion& stop,
                 const Ready& ready) {
  TM_ASSIGN_OR_RETURN(const AlignedBuffer memory, AlignedBuffer::Allocate(kDepth * kPartBytes));
  TM_ASSIGN_OR_RETURN(const OpenedEngine opened,
                      OpenEngine({.limits = {.depth = kDepth, .block_bytes = kPartBytes, .requests_max = kDepth}}));
  opened.engine->AddFile(file);
  std::array<IoRequest, kDepth> current;
  const auto next = [&](size_t slot) -> std::optional<IoRequest> {
    if (begin == end || (stop && stop())) return std::nullopt;
    const uint64_t bytes = std::min(kPartBytes, end - begin);
    current[slot] = {.op = op, .offset_bytes = begin, .buffer = memory.span().subspan(slot * kPartBytes, bytes)};
    begin += bytes;
    if (op == IoRequest::Op::kWrite) static_cast<void>(ready(current[slot]));
    return current[slot];
  };
  const auto finished = [&](size_t slot) { return op == IoRequest::Op::kRead ? ready(current[slot]) : Ok(); };
  TM_RETURN_IF_ERROR(Pump(*opened.engine, kDepth, next, finished));
  return begin == end ? Ok() : Interrupted();
}

}  // namespace

void MakePattern(uint64_t offset_bytes, std::span<std::byte> bytes) {
  TM_CHECK(offset_bytes % 8 == 0 && bytes.size() % 8 == 0);
  for (size_t at = 0; at < bytes.size(); at += 8) {
    const uint64_t word = PatternWord((offset_bytes + at) / 8);
    std::memcpy(bytes.data() + at, &word, 8);
  }
}

Status CheckPatternBytes(const BlockFile& file, uint64_t offset_bytes, std::span<const std::byte> bytes) {
  for (size_t at = 0; at < bytes.size(); at += 8) {
    const uint64_t expected = PatternWord((offset_bytes + at) / 8);
    uint64_t found = 0;
    std::memcpy(&found, bytes.data() + at, 8);
    if (found == expected) continue;
    const auto shift = static_cast<unsigned>(std::countr_zero(found ^ expected)) / 8 * 8;  // the first wrong byte
    return Fail(ErrorCode::kCorrupt, "wrong byte (" + file.path + " at offset " +
                                         std::to_string(offset_bytes + at + shift / 8) + ": expected " +
                                         std::to_string((expected >> shift) & 0xff) + ", found " +
                                         std::to_string((found >> shift) & 0xff) + "): do not use this drive");
  }
  return Ok();
}

Result<BenchFile> BenchFile::Open(const std::string& directory, uint64_t size_bytes, bool want_direct,
                                  const StopQuestion& stop) {
  TM_CHECK(size_bytes > 0 && size_bytes % kAlignmentBytes == 0);
  const std::string path = directory + "/tidemill-bench.bin";
  struct stat info {};
  const bool exists = ::lstat(path.c_str(), &info) == 0;
  if (exists && !S_ISREG(info.st_mode))
    return Fail(ErrorCode::kIo, "the bench file is not a plain file (" + path + "): remove it");
  const uint64_t had_bytes = exists ? static_cast<uint64_t>(info.st_size) : 0;
  if (had_bytes < size_bytes) TM_RETURN_IF_ERROR(CheckSpace(directory, size_bytes - had_bytes));
  const int flags = O_RDWR | O_NOFOLLOW | (exists ? 0 : O_CREAT | O_EXCL);
  TM_ASSIGN_OR_RETURN(DirectFd opened, OpenDirect(path, flags, want_direct, "cannot open the bench file"));
  BenchFile file(path, size_bytes, std::move(opened));
  if (!exists) {
    ::unlink(path.c_str());
    TM_RETURN_IF_ERROR(file.WritePattern(stop));
  } else if (had_bytes < size_bytes) {
    file.old_size_bytes_ = had_bytes;
    TM_RETURN_IF_ERROR(file.WritePattern(stop));
  }
  return file;
}

BenchFile::BenchFile(BenchFile&& other) noexcept
    : path_(std::move(other.path_)),
      size_bytes_(other.size_bytes_),
      opened_(std::move(other.opened_)),
      old_size_bytes_(std::exchange(other.old_size_bytes_, std::nullopt)),
      has_pattern_(other.has_pattern_) {}

BenchFile::~BenchFile() {
  if (!old_size_bytes_) return;
  // Nothing depends on it: a file that stays larger is only a pity.
  if (::ftruncate(opened_.fd.get(), static_cast<off_t>(*old_size_bytes_)) != 0) return;
}

Status BenchFile::WritePattern(const StopQuestion& stop) {
  const auto fill = [](const IoRequest& part) {
    MakePattern(part.offset_bytes, part.buffer);
    return Ok();
  };
  TM_RETURN_IF_ERROR(MoveParts(block_file(), IoRequest::Op::kWrite, 0, size_bytes_, stop, fill));
  const BlockFile file = block_file();
  TM_RETURN_IF_ERROR(FlushFiles({&file, 1}));
  has_pattern_ = true;
  return Ok();
}

Status BenchFile::CheckPattern(uint64_t begin, uint64_t end, const StopQuestion& stop) const {
  const BlockFile file = block_file();
  return MoveParts(file, IoRequest::Op::kRead, begin, end, stop,
                   [&](const IoRequest& part) { return CheckPatternBytes(file, part.offset_bytes, part.buffer); });
}

}  // namespace tidemill::io
