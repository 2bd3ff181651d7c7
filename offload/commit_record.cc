#include "offload/commit_record.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>

#include "base/atomic_file.h"
#include "base/check.h"
#include "io/block_file.h"
#include "io/crc32c.h"
#include "io/file_ops.h"
#include "io/io_error.h"
#include "io/transport.h"

namespace tidemill::offload {
namespace {

using nlohmann::json;

constexpr off_t kBytesMax = off_t{1} << 30;
constexpr std::string_view kMagic = "tidemill commit 1\n";

std::string PathIn(const std::string& directory) { return directory + "/tidemill-" + std::string(kCommitRecordName); }

std::string ChecksumLine(std::string_view text) {
  std::array<char, 24> line{};
  std::snprintf(line.data(), line.size(), "\ncrc32c %08x\n", io::Crc32c(std::as_bytes(std::span(text))));
  return line.data();
}

// `here`: which of the files lies beside this copy of the record.
std::string Format(const CommitRecord& record, size_t here) {
  json files = json::array(), pages = json::array();
  for (const CommittedFile& file : record.files) files.push_back({file.directory, file.name, file.bytes});
  for (const CommittedPage& page : record.pages) {
    json extents = json::array();
    for (const CommittedExtent& extent : page.extents)
      extents.push_back({extent.file, extent.offset, extent.bytes, extent.checksum});
    pages.push_back({page.name, std::move(extents)});
  }
  const json whole{{"run", record.run}, {"here", here}, {"files", std::move(files)}, {"pages", std::move(pages)}};
  // A path need not be UTF-8: such bytes are kept out of the way of the others, and the file beside is found anyway.
  std::string text = std::string(kMagic) + whole.dump(-1, ' ', false, json::error_handler_t::replace);
  return text + ChecksumLine(text);
}

CommitRecord FromJson(const json& whole, const std::string& directory) {
  CommitRecord record;
  record.run = whole.at("run").get<std::string>();
  for (const json& file : whole.at("files"))
    record.files.push_back({file.at(0).get<std::string>(), file.at(1).get<std::string>(), file.at(2).get<uint64_t>()});
  record.here = whole.at("here").get<size_t>();
  record.files.at(record.here).directory = directory;
  for (const json& page : whole.at("pages")) {
    CommittedPage& read = record.pages.emplace_back();
    read.name = page.at(0).get<std::string>();
    for (const json& extent : page.at(1))
      read.extents.push_back({extent.at(0).get<uint32_t>(), extent.at(1).get<uint64_t>(), extent.at(2).get<uint64_t>(),
                              extent.at(3).get<uint32_t>()});
  }
  return record;
}

Error CannotRead(const std::string& path) { return io::FileError("cannot read the commit record", path, errno); }

Result<std::string> ReadAll(int fd, const std::string& path) {
  std::string text;
  std::array<char, 1 << 16> part{};
  while (true) {
    const ssize_t count = ::read(fd, part.data(), part.size());
    if (count == 0) return text;
    if (count > 0) {
      text.append(part.data(), static_cast<size_t>(count));
    } else if (errno != EINTR) {
      return tl::make_unexpected(CannotRead(path));
    }
  }
}

tl::unexpected<Error> Damaged(const std::string& path) {
  return Fail(ErrorCode::kCorrupt, "the commit record is not what was written (" + path +
                                       "): the drive or somebody changed it; resume from the last checkpoint");
}

tl::unexpected<Error> Outside(const CommittedPage& page, const CommitRecord& record) {
  return Fail(ErrorCode::kCorrupt, "page " + page.name + " of the commit record is outside its swap files (" +
                                       record.files.front().directory + "): resume from the last checkpoint");
}

}  // namespace

uint64_t CommittedPage::bytes() const {
  uint64_t sum = 0;
  for (const CommittedExtent& extent : extents) sum += extent.bytes;
  return sum;
}

std::vector<CommittedPage> CommittedPages(std::span<const PageRecord> records) {
  std::vector<CommittedPage> pages;
  for (const PageRecord& record : records) {
    if (!record.page.persistent) continue;
    TM_CHECK(record.written);
    CommittedPage& page = pages.emplace_back();
    page.name = record.page.name;
    for (const PageRecord::Extent& extent : record.extents)
      page.extents.push_back({extent.place.file, extent.place.slot_offset[record.current], extent.place.bytes,
                              extent.checksum[record.current]});
  }
  return pages;
}

Result<std::vector<PageRecord>> ReadablePages(const CommitRecord& record) {
  std::vector<PageRecord> records;
  for (const CommittedPage& page : record.pages) {
    if (page.extents.size() > io::Transport::kFilesMax) return Outside(page, record);
    PageRecord& read = records.emplace_back();
    read.page = {page.name, 0, true};
    read.written = true;
    for (const CommittedExtent& extent : page.extents) {
      const bool within = extent.file < record.files.size() && extent.bytes > 0 &&
                          extent.bytes <= record.files[extent.file].bytes &&
                          extent.offset <= record.files[extent.file].bytes - extent.bytes &&
                          (extent.offset | extent.bytes) % io::kAlignmentBytes == 0;
      if (!within) return Outside(page, record);
      read.extents.push_back({{extent.file, read.page.bytes, extent.bytes, {extent.offset, extent.offset}},
                              {extent.checksum, extent.checksum}});
      read.page.bytes += extent.bytes;
    }
  }
  return records;
}

Status WriteCommitRecord(const CommitRecord& record) {
  for (size_t i = 0; i < record.files.size(); ++i)
    TM_RETURN_IF_ERROR(WriteFileAtomically(PathIn(record.files[i].directory), Format(record, i), 0600));
  return Ok();
}

Result<std::optional<CommitRecord>> ReadCommitRecord(const std::string& directory) {
  const std::string path = PathIn(directory);
  const io::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (fd.get() < 0 && (errno == ENOENT || errno == ELOOP)) return std::optional<CommitRecord>();
  struct stat info {};
  if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0) return tl::make_unexpected(CannotRead(path));
  if (!S_ISREG(info.st_mode)) return std::optional<CommitRecord>();
  if (info.st_size > kBytesMax) return Damaged(path);
  TM_ASSIGN_OR_RETURN(const std::string text, ReadAll(fd.get(), path));
  const size_t line_bytes = ChecksumLine({}).size();
  if (!text.starts_with(kMagic) || text.size() < kMagic.size() + line_bytes) return Damaged(path);
  const std::string_view body = std::string_view(text).substr(0, text.size() - line_bytes);
  if (ChecksumLine(body) != text.substr(body.size())) return Damaged(path);
  try {
    return FromJson(json::parse(body.substr(kMagic.size())), directory);
  } catch (const std::exception&) {
    return Damaged(path);
  }
}

}  // namespace tidemill::offload
