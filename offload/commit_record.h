// The commit record: which slots of which swap files hold the last committed step, and what the run has to remember
// beside its bytes. One in every swap directory; docs/SWAP_FORMAT.md.
//
// A record is written when everything it names is durable, and replaced as a whole: whatever interrupts the run, a
// record that can be read names bytes that are there. Until all directories have the new one, no slot that an old one
// names is written.
//
//   Durability  WriteCommitRecord: durable when it returns.
//   Errors      kNoSpace and kIo while writing; while reading kCorrupt for a record that is not what was written, kIo
//   and
//               kInvalidArgument for one that is there and cannot be read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "offload/striped_pages.h"

namespace tidemill::offload {

struct CommittedFile {
  std::string directory, name;
  uint64_t bytes = 0;

  std::string path() const { return directory + "/" + name; }
};

struct CommittedExtent {
  uint32_t file = 0;  // index into CommitRecord::files
  uint64_t offset = 0, bytes = 0;
  uint32_t checksum = 0;  // CRC-32C
};

struct CommittedPage {
  std::string name;
  std::vector<CommittedExtent> extents;  // in the page's order

  uint64_t bytes() const;
};

struct CommitRecord {
  std::string run;  // of the writer's own making: what the bytes mean, and where the run goes on
  std::vector<CommittedFile> files;
  std::vector<CommittedPage> pages;  // the persistent ones, by page id
  size_t here = 0;                   // in a record that was read: which of the files lies beside it
};

// The persistent pages as they were last written.
std::vector<CommittedPage> CommittedPages(std::span<const PageRecord> records);
// To read them again. kCorrupt: they are not within their files.
Result<std::vector<PageRecord>> ReadablePages(const CommitRecord& record);

// Into every directory of `record.files`.
Status WriteCommitRecord(const CommitRecord& record);

inline constexpr std::string_view kCommitRecordName = "commit";  // of SwapDirectory::FilePath()

// The record in `directory`; nothing when there is none, and none is what is no regular file. A directory that was
// moved is followed: its own file is looked for where the record is.
Result<std::optional<CommitRecord>> ReadCommitRecord(const std::string& directory);

}  // namespace tidemill::offload
