#include "offload/swap_space.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/byte_size.h"
#include "base/check.h"
#include "offload/stripe_planning.h"

namespace tidemill::offload {
namespace {

using swap_scheduler::PageId;

// Two lanes, each with a page's extents in every file.
constexpr size_t kRequestsMax = 4 * io::Transport::kFilesMax;

// What is not ours is not removed, and would be met at the first commit.
Status CheckRecordsPlace(const io::SwapDirectory& directory) {
  for (const char* const end : {"", ".partial"}) {
    const std::string path = directory.FilePath(std::string(kCommitRecordName) + end);
    struct stat info {};
    if (::lstat(path.c_str(), &info) == 0)
      return Fail(ErrorCode::kInvalidArgument, "what is in the commit record's place is no file (" + path +
                                                   "): remove it, or give another --swap-dir");
  }
  return Ok();
}

}  // namespace

SwapSpace::SwapSpace(const SwapConfig& config)
    : read_throttle_(config.read_bytes_per_s), write_throttle_(config.write_bytes_per_s) {}

Result<std::unique_ptr<SwapSpace>> SwapSpace::Open(const SwapConfig& config, std::vector<SwapPage> pages,
                                                   std::span<std::byte> registered) {
  TM_CHECK(!config.directories.empty() && config.directories.size() <= io::Transport::kFilesMax);
  std::unique_ptr<SwapSpace> space(new SwapSpace(config));
  TM_RETURN_IF_ERROR(space->Claim(config));
  TM_ASSIGN_OR_RETURN(const StripeLayout layout, PlanStripes(StripePages(pages), space->directories_, config.speeds,
                                                             config.engine, space->notes_));
  TM_RETURN_IF_ERROR(space->MakeFiles(layout));
  TM_ASSIGN_OR_RETURN(std::unique_ptr<io::Engine> engine, space->OpenEngine(config, registered));
  space->pages_ = std::make_unique<StripedPages>(std::move(pages), layout, std::move(engine));
  return space;
}

Result<std::unique_ptr<SwapSpace>> SwapSpace::OpenCommitted(const CommitRecord& record) {
  std::unique_ptr<SwapSpace> space(new SwapSpace(SwapConfig()));
  TM_ASSIGN_OR_RETURN(std::vector<PageRecord> pages, ReadablePages(record));
  TM_RETURN_IF_ERROR(space->OpenCommittedFiles(record));
  TM_ASSIGN_OR_RETURN(std::unique_ptr<io::Engine> engine, space->OpenEngine(SwapConfig(), {}));
  space->pages_ = std::make_unique<StripedPages>(std::move(pages), std::move(engine));
  return space;
}

Status SwapSpace::OpenCommittedFiles(const CommitRecord& record) {
  for (const CommittedFile& file : record.files) {
    TM_ASSIGN_OR_RETURN(io::UniqueFd lock, io::LockForReading(file.directory));
    reading_locks_.push_back(std::move(lock));
    if (::access(file.path().c_str(), F_OK) != 0 && errno == ENOENT)
      return Fail(ErrorCode::kCorrupt, "the committed step is lost: its swap file is not there (" + file.path() +
                                           "): put it back, or resume from the last checkpoint");
    TM_ASSIGN_OR_RETURN(io::SwapFile opened, io::SwapFile::Open(file.path(), file.bytes));
    files_.push_back(std::move(opened));
  }
  return Ok();
}

Status SwapSpace::Commit(const std::string& run) {
  TM_RETURN_IF_ERROR(Flush());
  CommitRecord record{run, {}, CommittedPages(pages_->records())};
  for (size_t i = 0; i < files_.size(); ++i) {
    const std::filesystem::path path = std::filesystem::absolute(files_[i].path());
    record.files.push_back({path.parent_path(), path.filename(), files_[i].capacity_bytes()});
  }
  TM_RETURN_IF_ERROR(WriteCommitRecord(record));
  pages_->MarkCommitted();
  return Ok();
}

void SwapSpace::KeepFiles() {
  keep_ = true;
  for (io::SwapFile& file : files_) file.Keep();
}

SwapSpace::~SwapSpace() {
  pages_.reset();
  files_.clear();
  if (keep_) return;
  // What cannot be removed is a dead run's leftover, and the next claim will deal with it.
  for (io::SwapDirectory& directory : directories_) (void)directory.Finish();
}

// What this run left when it was killed makes room: what was committed has been saved by now.
Status SwapSpace::Claim(const SwapConfig& config) {
  for (const std::string& path : config.directories) {
    TM_ASSIGN_OR_RETURN(io::SwapDirectory directory, io::SwapDirectory::Claim(path, config.identity, config.leftovers));
    TM_RETURN_IF_ERROR(directory.RemoveFiles());
    TM_RETURN_IF_ERROR(CheckRecordsPlace(directory));
    directories_.push_back(std::move(directory));
  }
  return Ok();
}

Status SwapSpace::MakeFiles(const StripeLayout& layout) {
  for (size_t i = 0; i < directories_.size(); ++i) {
    const uint64_t bytes = std::max<uint64_t>(layout.file_bytes[i], io::kAlignmentBytes);
    TM_ASSIGN_OR_RETURN(io::SwapFile file, io::SwapFile::Create(directories_[i].FilePath(kSwapFileName), bytes));
    if (!file.note().empty()) notes_.push_back(file.note());
    files_.push_back(std::move(file));
  }
  return Ok();
}

Result<std::unique_ptr<io::Engine>> SwapSpace::OpenEngine(const SwapConfig& config, std::span<std::byte> registered) {
  io::EngineOptions options{
      .choice = config.engine,
      .limits = {.depth = config.depth, .block_bytes = config.block_bytes, .requests_max = kRequestsMax}};
  if (!registered.empty()) options.registered.push_back(registered);
  TM_ASSIGN_OR_RETURN(io::OpenedEngine opened, io::OpenEngine(options));
  for (const io::SwapFile& file : files_) opened.engine->AddFile(file.block_file());
  notes_.insert(notes_.end(), opened.notes.begin(), opened.notes.end());
  return std::move(opened.engine);
}

Status SwapSpace::WritePage(PageId page, std::span<std::byte> bytes) {
  const auto started = std::chrono::steady_clock::now();
  TM_RETURN_IF_ERROR(pages_->Write(page, bytes));
  write_throttle_.Pass(started, bytes.size());
  return Ok();
}

Status SwapSpace::ReadPage(PageId page, std::span<std::byte> bytes) {
  const auto started = std::chrono::steady_clock::now();
  TM_RETURN_IF_ERROR(pages_->Read(page, bytes));
  read_throttle_.Pass(started, bytes.size());
  return Ok();
}

uint64_t SwapSpace::file_bytes() const {
  uint64_t bytes = 0;
  for (const io::SwapFile& file : files_) bytes += file.capacity_bytes();
  return bytes;
}

uint64_t SwapSpace::buffered_bytes() const { return pages_->queue().counters().buffered_bytes; }

void SwapSpace::Throttle::Pass(std::chrono::steady_clock::time_point started, uint64_t bytes) const {
  if (bytes_per_s_ <= 0) return;
  const std::chrono::duration<double> least(static_cast<double>(bytes) / bytes_per_s_);
  std::this_thread::sleep_until(started + std::chrono::duration_cast<std::chrono::steady_clock::duration>(least));
}

}  // namespace tidemill::offload
