#include "offload/striped_pages.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/byte_size.h"
#include "base/check.h"
#include "io/crc32c.h"
#include "io/swap_file.h"
#include "io/transport.h"

namespace tidemill::offload {
namespace {

using swap_scheduler::PageId;
using Extent = PageRecord::Extent;

std::string Hex(uint32_t value) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%08x", value);
  return text.data();
}

// The extent's part of `bytes`, which may end before the page does.
std::span<std::byte> PartOf(std::span<std::byte> bytes, const Extent& extent) {
  const uint64_t begin = std::min<uint64_t>(extent.place.begin_bytes, bytes.size());
  return bytes.subspan(begin, std::min<uint64_t>(extent.place.bytes, bytes.size() - begin));
}

// A page moves in parts of every extent, so that the checksum of one part is computed while others are with the drives.
constexpr size_t kPartsMax = 16;
constexpr uint64_t kPartBytesMin = 256 * kKiB;
// Parts of a read that are with the drives at once: those of a whole page would all arrive at its end.
constexpr size_t kPartsAhead = 4;

size_t PartCount(uint64_t page_bytes) { return std::clamp<size_t>(page_bytes / kPartBytesMin, 1, kPartsMax); }

// Part `index` of `count` of an extent's bytes; the last ones may be empty.
std::span<std::byte> Slice(std::span<std::byte> extent, size_t index, size_t count) {
  const size_t step = AlignUp((extent.size() + count - 1) / count, io::kAlignmentBytes);
  const size_t begin = std::min(index * step, extent.size());
  return extent.subspan(begin, std::min(step, extent.size() - begin));
}

std::vector<io::BlockFile> FilesOf(const io::Engine& engine) {
  std::vector<io::BlockFile> files;
  for (uint32_t i = 0; i < engine.file_count(); ++i) files.push_back(engine.file(i));
  return files;
}

tl::unexpected<Error> OfPage(const PageRecord& record, Error error) {
  error.message = "page " + record.page.name + ": " + error.message;
  return tl::make_unexpected(std::move(error));
}

std::vector<PageRecord> FreshRecords(std::vector<SwapPage> pages, const StripeLayout& layout) {
  TM_CHECK(layout.pages.size() == pages.size());
  std::vector<PageRecord> records(pages.size());
  for (size_t i = 0; i < pages.size(); ++i) {
    records[i].page = std::move(pages[i]);
    for (const StripeExtent& extent : layout.pages[i]) records[i].extents.push_back({extent, {}});
  }
  return records;
}

}  // namespace

std::vector<StripePage> StripePages(std::span<const SwapPage> pages) {
  std::vector<StripePage> result;
  for (const SwapPage& page : pages) result.push_back({page.bytes, page.persistent ? 2U : 1U});
  return result;
}

uint8_t PageRecord::SlotToWrite() const {
  if (!page.persistent) return 0;
  const std::optional<uint8_t> kept = committed ? committed : written ? std::optional(current) : std::nullopt;
  return kept ? static_cast<uint8_t>(1 - *kept) : uint8_t{0};
}

StripedPages::StripedPages(std::vector<SwapPage> pages, const StripeLayout& layout, std::unique_ptr<io::Engine> engine)
    : StripedPages(FreshRecords(std::move(pages), layout), std::move(engine)) {
  TM_CHECK(layout.file_bytes.size() == files_.size());
}

StripedPages::StripedPages(std::vector<PageRecord> records, std::unique_ptr<io::Engine> engine)
    : files_(FilesOf(*engine)), records_(std::move(records)), queue_(std::move(engine)) {}

void StripedPages::MarkCommitted() {
  for (PageRecord& record : records_) {
    if (record.page.persistent) record.committed = record.current;
  }
}

void StripedPages::Submit(io::IoRequest::Op op, const PageRecord& record, uint8_t slot, std::span<std::byte> bytes,
                          size_t part, io::IoBatch& batch) {
  std::array<io::IoRequest, io::Transport::kFilesMax> requests;
  size_t count = 0;
  for (const Extent& extent : record.extents) {
    const std::span<std::byte> whole = PartOf(bytes, extent), slice = Slice(whole, part, PartCount(bytes.size()));
    if (slice.empty()) continue;
    const auto begin = static_cast<uint64_t>(slice.data() - whole.data());
    requests[count++] = {.op = op,
                         .file = extent.place.file,
                         .offset_bytes = extent.place.slot_offset[slot] + begin,
                         .buffer = slice,
                         .priority = op == io::IoRequest::Op::kRead ? io::Priority::kDemand : io::Priority::kWriteBack};
  }
  queue_.Submit(std::span(requests).first(count), batch);
}

Status StripedPages::Write(PageId page, std::span<std::byte> bytes) {
  PageRecord& record = records_[page];
  TM_CHECK(bytes.size() <= record.page.bytes);
  const uint8_t slot = record.SlotToWrite();
  const size_t parts = PartCount(bytes.size());
  for (Extent& extent : record.extents) extent.checksum[slot] = 0;
  io::IoBatch batch;
  for (size_t part = 0; part < parts; ++part) {
    for (Extent& extent : record.extents) {
      uint32_t& checksum = extent.checksum[slot];
      checksum = io::Crc32c(Slice(PartOf(bytes, extent), part, parts), checksum);
    }
    Submit(io::IoRequest::Op::kWrite, record, slot, bytes, part, batch);
  }
  Status status = batch.Wait();
  if (!status) return OfPage(record, std::move(status.error()));
  record.current = slot;
  record.written = true;
  return Ok();
}

Status StripedPages::Read(PageId page, std::span<std::byte> bytes) {
  const PageRecord& record = records_[page];
  TM_CHECK(record.written && bytes.size() <= record.page.bytes);
  TM_RETURN_IF_ERROR(CheckPresent(record));
  const size_t parts = PartCount(bytes.size());
  std::array<io::IoBatch, kPartsMax> batches;
  const auto submit = [&](size_t part) {
    if (part < parts) Submit(io::IoRequest::Op::kRead, record, record.current, bytes, part, batches[part]);
  };
  for (size_t part = 0; part < kPartsAhead; ++part) submit(part);
  std::array<uint32_t, io::Transport::kFilesMax> found{};
  Status status;
  for (size_t part = 0; part < parts; ++part) {
    Status moved = batches[part].Wait();  // every one, also after an error: the drives write into `bytes`
    if (status) status = std::move(moved);
    submit(part + kPartsAhead);
    for (size_t i = 0; i < record.extents.size() && status; ++i)
      found[i] = io::Crc32c(Slice(PartOf(bytes, record.extents[i]), part, parts), found[i]);
  }
  if (!status) return OfPage(record, std::move(status.error()));
  for (size_t i = 0; i < record.extents.size(); ++i) {
    const Extent& extent = record.extents[i];
    const uint32_t expected = extent.checksum[record.current];
    if (found[i] == expected) continue;
    return Fail(ErrorCode::kCorrupt, "page " + record.page.name + " is not what was written: checksum " +
                                         Hex(found[i]) + ", expected " + Hex(expected) + " (" +
                                         files_[extent.place.file].path + ", offset " +
                                         std::to_string(extent.place.slot_offset[record.current]) + ", " +
                                         std::to_string(extent.place.bytes) +
                                         " bytes): the drive or somebody changed it; resume from the last checkpoint");
  }
  return Ok();
}

Status StripedPages::CheckPresent(const PageRecord& record) const {
  for (const Extent& extent : record.extents) {
    if (!io::IsRemoved(files_[extent.place.file])) continue;
    return Fail(ErrorCode::kCorrupt, "page " + record.page.name +
                                         " is lost: its swap file was removed during the run (" +
                                         files_[extent.place.file].path + ", offset " +
                                         std::to_string(extent.place.slot_offset[record.current]) +
                                         "): keep others out of the directory, and resume from the last checkpoint");
  }
  return Ok();
}

}  // namespace tidemill::offload
