// {"input_ids": [...], "labels": [...]}: tokens as they are. Without labels, every token is one; other keys are
// ignored.
#include <algorithm>

#include "data/jsonl_file.h"
#include "data/record_source.h"

namespace tidemill::data {
namespace {

Status CheckRange(const std::vector<int32_t>& values, const char* key, bool may_ignore, int64_t vocab_size,
                  uint64_t sample, const LinePlace& place) {
  for (size_t i = 0; i < values.size(); ++i) {
    const bool good = (values[i] >= 0 && values[i] < vocab_size) || (may_ignore && values[i] == kIgnoredLabel);
    if (good) continue;
    return BadLine(std::string(key) + "[" + std::to_string(i) + "] of sample " + std::to_string(sample) + " is " +
                       std::to_string(values[i]),
                   place, "the model has ids 0 to " + std::to_string(vocab_size - 1));
  }
  return Ok();
}

// The whole row, checked, not yet cut to max_length.
Status ReadRow(const JsonLine& record, const LinePlace& place, uint64_t sample, int64_t vocab_size, Sample& row) {
  TM_RETURN_IF_ERROR(record.Integers("input_ids", place, row.ids));
  if (row.ids.empty()) return BadLine("sample " + std::to_string(sample) + " has no token", place, "remove the line");
  TM_RETURN_IF_ERROR(CheckRange(row.ids, "input_ids", false, vocab_size, sample, place));
  if (!record.Has("labels")) {
    row.labels = row.ids;
    return Ok();
  }
  TM_RETURN_IF_ERROR(record.Integers("labels", place, row.labels));
  if (row.labels.size() != row.ids.size()) {
    return BadLine("sample " + std::to_string(sample) + " has " + std::to_string(row.ids.size()) + " input_ids and " +
                       std::to_string(row.labels.size()) + " labels",
                   place, "give each token a label, -100 where none is to be learned");
  }
  return CheckRange(row.labels, "labels", true, vocab_size, sample, place);
}

class IdsSource final : public RecordSource {
 public:
  IdsSource(JsonlFile file, const DatasetOptions& options, size_t longest)
      : file_(std::move(file)), options_(options), longest_(longest) {}

  uint64_t size() const override { return file_.size(); }
  size_t LongestRowUpperBound() const override { return longest_; }

  Result<Sample> Get(uint64_t index) override {
    TM_ASSIGN_OR_RETURN(const JsonLine* record, file_.Read(index));
    Sample row;
    TM_RETURN_IF_ERROR(ReadRow(*record, file_.PlaceOf(index), index, options_.vocab_size, row));
    row.ids.resize(std::min(row.ids.size(), options_.max_length));
    row.labels.resize(row.ids.size());
    return row;
  }

 private:
  JsonlFile file_;
  const DatasetOptions options_;
  const size_t longest_;
};

}  // namespace

Result<std::unique_ptr<RecordSource>> OpenIdsSource(const std::string& path, const DatasetOptions& options) {
  size_t longest = 0;
  uint64_t sample = 0;
  Sample row;
  const auto visit = [&](const JsonLine& record, const LinePlace& place) {
    const Status status = ReadRow(record, place, sample++, options.vocab_size, row);
    longest = std::max(longest, std::min(row.ids.size(), options.max_length));
    return status;
  };
  TM_ASSIGN_OR_RETURN(JsonlFile file, JsonlFile::Open(path, visit));
  return std::make_unique<IdsSource>(std::move(file), options, longest);
}

}  // namespace tidemill::data
