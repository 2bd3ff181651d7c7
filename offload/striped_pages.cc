#include "offload/striped_pages.h"

#include <algorithm>
#include <cstdio>
#include <utility>

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

std::vector<io::BlockFile> FilesOf(const io::Engine& engine) {
  std::vector<io::BlockFile> files;
  for (uint32_t i = 0; i < engine.file_count(); ++i) files.push_back(engine.file(i));
  return files;
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

Status StripedPages::Transfer(io::IoRequest::Op op, const PageRecord& record, uint8_t slot,
                              std::span<std::byte> bytes) {
  const bool read = op == io::IoRequest::Op::kRead;
  std::array<io::IoRequest, io::Transport::kFilesMax> requests;
  size_t count = 0;
  for (const Extent& extent : record.extents) {
    requests[count++] = {.op = op,
                         .file = extent.place.file,
                         .offset_bytes = extent.place.slot_offset[slot],
                         .buffer = PartOf(bytes, extent),
                         .priority = read ? io::Priority::kDemand : io::Priority::kWriteBack};
  }
  io::IoBatch batch;
  queue_.Submit(std::span(requests).first(count), batch);
  Status status = batch.Wait();
  if (!status.has_value()) status.error().message = "page " + record.page.name + ": " + status.error().message;
  return status;
}

Status StripedPages::Write(PageId page, std::span<std::byte> bytes) {
  PageRecord& record = records_[page];
  TM_CHECK(bytes.size() <= record.page.bytes);
  const uint8_t slot = record.SlotToWrite();
  for (Extent& extent : record.extents) extent.checksum[slot] = io::Crc32c(PartOf(bytes, extent));
  TM_RETURN_IF_ERROR(Transfer(io::IoRequest::Op::kWrite, record, slot, bytes));
  record.current = slot;
  record.written = true;
  return Ok();
}

Status StripedPages::Read(PageId page, std::span<std::byte> bytes) {
  const PageRecord& record = records_[page];
  TM_CHECK(record.written && bytes.size() <= record.page.bytes);
  TM_RETURN_IF_ERROR(CheckPresent(record));
  TM_RETURN_IF_ERROR(Transfer(io::IoRequest::Op::kRead, record, record.current, bytes));
  for (const Extent& extent : record.extents) {
    const uint32_t found = io::Crc32c(PartOf(bytes, extent)), expected = extent.checksum[record.current];
    if (found == expected) continue;
    return Fail(ErrorCode::kCorrupt, "page " + record.page.name + " is not what was written: checksum " + Hex(found) +
                                         ", expected " + Hex(expected) + " (" + files_[extent.place.file].path +
                                         ", offset " + std::to_string(extent.place.slot_offset[record.current]) + ", " +
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
