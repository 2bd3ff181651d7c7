#include "offload/commit_record.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>

#include "base/atomic_file.h"
#include "base/check.h"
#include "io/block_file.h"
#include "io/crc32c.h"

namespace tidemill::offload {
namespace {

using nlohmann::json;

constexpr std::string_view kFileName = "tidemill-commit";
constexpr std::string_view kMagic = "tidemill commit 1\n";

std::string PathIn(const std::string& directory) { return directory + "/" + std::string(kFileName); }

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
  record.files.at(whole.at("here").get<size_t>()).directory = directory;
  for (const json& page : whole.at("pages")) {
    CommittedPage& read = record.pages.emplace_back();
    read.name = page.at(0).get<std::string>();
    for (const json& extent : page.at(1))
      read.extents.push_back({extent.at(0).get<uint32_t>(), extent.at(1).get<uint64_t>(), extent.at(2).get<uint64_t>(),
                              extent.at(3).get<uint32_t>()});
  }
  return record;
}

tl::unexpected<Error> Damaged(const std::string& path) {
  return Fail(ErrorCode::kCorrupt, "the commit record is not what was written (" + path +
                                       "): the drive or somebody changed it; resume from the last checkpoint");
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
    PageRecord& read = records.emplace_back();
    read.page = {page.name, 0, true};
    read.written = true;
    for (const CommittedExtent& extent : page.extents) {
      const bool within = extent.file < record.files.size() && extent.bytes <= record.files[extent.file].bytes &&
                          extent.offset <= record.files[extent.file].bytes - extent.bytes &&
                          (extent.offset | extent.bytes) % io::kAlignmentBytes == 0;
      if (!within)
        return Fail(ErrorCode::kCorrupt, "page " + page.name + " of the commit record is outside its swap file (" +
                                             record.files.front().directory + "): resume from the last checkpoint");
      read.extents.push_back({{extent.file, read.page.bytes, extent.bytes, {extent.offset, extent.offset}},
                              {extent.checksum, extent.checksum}});
      read.page.bytes += extent.bytes;
    }
  }
  return records;
}

Status WriteCommitRecord(const CommitRecord& record) {
  for (size_t i = 0; i < record.files.size(); ++i)
    TM_RETURN_IF_ERROR(WriteFileAtomically(PathIn(record.files[i].directory), Format(record, i)));
  return Ok();
}

Result<std::optional<CommitRecord>> ReadCommitRecord(const std::string& directory) {
  const std::string path = PathIn(directory);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::optional<CommitRecord>();
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file)
    return Fail(ErrorCode::kIo,
                "cannot read the commit record (" + path + "): check that it is a file that may be read");
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
