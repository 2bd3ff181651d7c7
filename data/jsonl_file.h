// A JSON lines file: where each record is, without keeping any.
//
// Lines end with a line feed; the last one need not. A byte order mark at the start and blank lines are skipped, and so
// is white space around a record, a carriage return included.
//
//   Ownership  owns the open file.
//   Threads    one thread at a time.
//   Errors     kIo; kInvalidArgument from what the visitor says, or for a file beyond the limits.
//   Limits     16 bytes of memory a record; 2^32 lines; a line below 4 GiB; a file below 2^63 bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/input_file.h"
#include "data/json_line.h"

namespace tidemill::data {

class JsonlFile {
 public:
  // Called with each record in turn, parsed; an error ends the reading.
  using Visitor = std::function<Status(const JsonLine& record, const LinePlace& place)>;

  // Reads the whole file once.
  static Result<JsonlFile> Open(const std::string& path, const Visitor& visit);

  // The first record, for those who ask what the file holds. Fails if there is none.
  static Status ReadFirst(const std::string& path, const Visitor& visit);

  uint64_t size() const { return records_.size(); }

  // Reads and parses record `index`; valid until the next Read().
  Result<const JsonLine*> Read(uint64_t index);
  LinePlace PlaceOf(uint64_t index) const { return {file_.path(), records_[index].line}; }

 private:
  struct Record {
    uint64_t offset_bytes;
    uint32_t size_bytes;
    uint32_t line;
  };

  explicit JsonlFile(InputFile file) : file_(std::move(file)) {}

  InputFile file_;
  std::vector<Record> records_;
  std::string buffer_;
  JsonLine parsed_;
};

}  // namespace tidemill::data
