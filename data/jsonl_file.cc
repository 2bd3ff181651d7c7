#include "data/jsonl_file.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>

#include "base/check.h"
#include "data/utf8.h"

namespace tidemill::data {
namespace {

// Lines with their places, through getline(3).
class LineReader {
 public:
  explicit LineReader(const std::string& path) : stream_(std::fopen(path.c_str(), "rb")) {}
  ~LineReader() {
    std::free(text_);
    if (stream_ != nullptr) std::fclose(stream_);
  }
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // The next line that is not blank; false at the end of the file, or when reading failed.
  bool Next() {
    if (stream_ == nullptr) return false;
    for (;;) {
      offset_bytes_ += static_cast<uint64_t>(line_bytes_);
      line_bytes_ = getline(&text_, &capacity_bytes_, stream_);
      if (line_bytes_ < 0) return false;
      ++number_;
      line_ = std::string_view(text_, static_cast<size_t>(line_bytes_));
      skipped_bytes_ = number_ == 1 && line_.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
      line_.remove_prefix(skipped_bytes_);
      if (!IsBlankLine(line_)) return true;
    }
  }

  bool failed() const { return stream_ == nullptr || std::ferror(stream_) != 0; }
  std::string_view line() const { return line_; }
  uint64_t offset_bytes() const { return offset_bytes_ + skipped_bytes_; }
  uint64_t number() const { return number_; }

 private:
  std::FILE* stream_;
  char* text_ = nullptr;
  size_t capacity_bytes_ = 0;
  ssize_t line_bytes_ = 0;
  uint64_t offset_bytes_ = 0;
  uint64_t skipped_bytes_ = 0;
  uint64_t number_ = 0;
  std::string_view line_;
};

tl::unexpected<Error> CannotRead(const std::string& path) {
  return Fail(ErrorCode::kIo, "cannot read the data (" + path + "): does the file exist, and may it be read?");
}

}  // namespace

Result<JsonlFile> JsonlFile::Open(const std::string& path, const Visitor& visit) {
  TM_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  JsonlFile jsonl(std::move(file));
  LineReader reader(path);
  while (reader.Next()) {
    const LinePlace place{path, reader.number()};
    if (reader.line().size() > UINT32_MAX || reader.number() > UINT32_MAX) {
      return BadLine("the line or the file is too long", place, "split the file");
    }
    TM_RETURN_IF_ERROR(jsonl.parsed_.Parse(reader.line(), place));
    TM_RETURN_IF_ERROR(visit(jsonl.parsed_, place));
    jsonl.records_.push_back(
        {reader.offset_bytes(), static_cast<uint32_t>(reader.line().size()), static_cast<uint32_t>(reader.number())});
  }
  if (reader.failed()) return CannotRead(path);
  return jsonl;
}

Status JsonlFile::ReadFirst(const std::string& path, const Visitor& visit) {
  TM_RETURN_IF_ERROR(InputFile::Open(path));  // refuses what is no file; a pipe would make the reader wait
  LineReader reader(path);
  if (reader.Next()) {
    JsonLine record;
    const LinePlace place{path, reader.number()};
    TM_RETURN_IF_ERROR(record.Parse(reader.line(), place));
    return visit(record, place);
  }
  if (reader.failed()) return CannotRead(path);
  return Fail(ErrorCode::kInvalidArgument, "the data holds no record (" + path + "): name another file");
}

Result<const JsonLine*> JsonlFile::Read(uint64_t index) {
  TM_CHECK(index < records_.size());
  buffer_.resize(records_[index].size_bytes);
  TM_RETURN_IF_ERROR(file_.ReadAt(records_[index].offset_bytes, std::as_writable_bytes(std::span(buffer_))));
  TM_RETURN_IF_ERROR(parsed_.Parse(buffer_, PlaceOf(index)));
  return &parsed_;
}

}  // namespace tidemill::data
