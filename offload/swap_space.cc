#include "offload/swap_space.h"

#include <algorithm>
#include <cstdio>
#include <thread>
#include <utility>

#include "base/byte_size.h"
#include "base/check.h"
#include "io/crc32c.h"

namespace tidemill::offload {
namespace {

using swap_scheduler::PageId;

constexpr const char* kFileName = "swap.bin";
constexpr io::EngineLimits kLimits{.depth = 32, .block_bytes = kMiB, .requests_max = 64};

std::string Hex(uint32_t value) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%08x", value);
  return text.data();
}

}  // namespace

SwapSpace::SwapSpace(const SwapConfig& config, std::vector<SwapPage> pages)
    : read_throttle_(config.read_bytes_per_s), write_throttle_(config.write_bytes_per_s) {
  places_.resize(pages.size());
  for (size_t i = 0; i < pages.size(); ++i) places_[i].page = std::move(pages[i]);
}

// Deals the pages out to the files in turn. Returns each file's size.
std::vector<uint64_t> SwapSpace::AssignSlots(size_t files) {
  std::vector<uint64_t> sizes(files);
  uint32_t next = 0;
  for (Place& place : places_) {
    if (place.page.bytes == 0) continue;
    place.file = next;
    next = (next + 1) % static_cast<uint32_t>(files);
    for (size_t slot = 0; slot < (place.page.persistent ? 2U : 1U); ++slot) {
      place.slot_offset[slot] = sizes[place.file];
      sizes[place.file] += AlignUp(place.page.bytes, io::kAlignmentBytes);
    }
  }
  return sizes;
}

Result<std::unique_ptr<SwapSpace>> SwapSpace::Open(const SwapConfig& config, std::vector<SwapPage> pages,
                                                   std::span<std::byte> registered) {
  TM_CHECK(!config.directories.empty());
  std::unique_ptr<SwapSpace> space(new SwapSpace(config, std::move(pages)));
  TM_RETURN_IF_ERROR(space->Claim(config));
  const std::vector<uint64_t> sizes = space->AssignSlots(config.directories.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    TM_ASSIGN_OR_RETURN(io::SwapFile file, io::SwapFile::Create(space->directories_[i].FilePath(kFileName),
                                                                std::max<uint64_t>(sizes[i], io::kAlignmentBytes)));
    if (!file.note().empty()) space->notes_.push_back(file.note());
    space->files_.push_back(std::move(file));
  }
  TM_RETURN_IF_ERROR(space->OpenQueue(config, registered));
  return space;
}

SwapSpace::~SwapSpace() {
  queue_.reset();
  files_.clear();
  // What cannot be removed is a dead run's leftover, and the next claim will deal with it.
  for (io::SwapDirectory& directory : directories_) (void)directory.Finish();
}

// Nothing is resumed from swap files: what this run left when it was killed makes room.
Status SwapSpace::Claim(const SwapConfig& config) {
  for (const std::string& path : config.directories) {
    TM_ASSIGN_OR_RETURN(io::SwapDirectory directory, io::SwapDirectory::Claim(path, config.identity, config.leftovers));
    TM_RETURN_IF_ERROR(directory.RemoveFiles());
    directories_.push_back(std::move(directory));
  }
  return Ok();
}

Status SwapSpace::OpenQueue(const SwapConfig& config, std::span<std::byte> registered) {
  io::EngineOptions options{.choice = config.engine, .limits = kLimits};
  if (!registered.empty()) options.registered.push_back(registered);
  TM_ASSIGN_OR_RETURN(io::OpenedEngine opened, io::OpenEngine(options));
  for (const io::SwapFile& file : files_) opened.engine->AddFile(file.block_file());
  notes_.insert(notes_.end(), opened.notes.begin(), opened.notes.end());
  queue_ = std::make_unique<io::IoQueue>(std::move(opened.engine));
  return Ok();
}

Status SwapSpace::Transfer(io::IoRequest::Op op, const Place& place, uint8_t slot, std::span<std::byte> bytes) {
  TM_CHECK(bytes.size() <= place.page.bytes);
  const bool read = op == io::IoRequest::Op::kRead;
  const io::IoRequest request{.op = op,
                              .file = place.file,
                              .offset_bytes = place.slot_offset[slot],
                              .buffer = bytes,
                              .priority = read ? io::Priority::kDemand : io::Priority::kWriteBack};
  io::IoBatch batch;
  queue_->Submit({&request, 1}, batch);
  Status status = batch.Wait();
  if (!status.has_value()) status.error().message = "page " + place.page.name + ": " + status.error().message;
  return status;
}

Status SwapSpace::WritePage(PageId page, std::span<std::byte> bytes) {
  const auto started = std::chrono::steady_clock::now();
  Place& place = places_[page];
  const auto slot = static_cast<uint8_t>(place.page.persistent && place.written ? 1 - place.current : place.current);
  place.checksum[slot] = io::Crc32c(bytes);
  TM_RETURN_IF_ERROR(Transfer(io::IoRequest::Op::kWrite, place, slot, bytes));
  place.current = slot;
  place.written = true;
  write_throttle_.Pass(started, bytes.size());
  return Ok();
}

Status SwapSpace::ReadPage(PageId page, std::span<std::byte> bytes) {
  const auto started = std::chrono::steady_clock::now();
  const Place& place = places_[page];
  TM_CHECK(place.written);
  if (files_[place.file].Removed())
    return Fail(ErrorCode::kCorrupt,
                "page " + place.page.name + " is lost: its swap file was removed during the run (" +
                    files_[place.file].path() + ", offset " + std::to_string(place.slot_offset[place.current]) +
                    "): keep others out of the directory, and resume from the last checkpoint");
  TM_RETURN_IF_ERROR(Transfer(io::IoRequest::Op::kRead, place, place.current, bytes));
  const uint32_t found = io::Crc32c(bytes);
  if (found != place.checksum[place.current])
    return Fail(ErrorCode::kCorrupt, "page " + place.page.name + " is not what was written: checksum " + Hex(found) +
                                         ", expected " + Hex(place.checksum[place.current]) + " (" +
                                         files_[place.file].path() + ", offset " +
                                         std::to_string(place.slot_offset[place.current]) +
                                         "): the drive or somebody changed it; resume from the last checkpoint");
  read_throttle_.Pass(started, bytes.size());
  return Ok();
}

uint64_t SwapSpace::file_bytes() const {
  uint64_t bytes = 0;
  for (const io::SwapFile& file : files_) bytes += file.capacity_bytes();
  return bytes;
}

uint64_t SwapSpace::buffered_bytes() const { return queue_->counters().buffered_bytes; }

void SwapSpace::Throttle::Pass(std::chrono::steady_clock::time_point started, uint64_t bytes) const {
  if (bytes_per_s_ <= 0) return;
  const std::chrono::duration<double> least(static_cast<double>(bytes) / bytes_per_s_);
  std::this_thread::sleep_until(started + std::chrono::duration_cast<std::chrono::steady_clock::duration>(least));
}

}  // namespace tidemill::offload
