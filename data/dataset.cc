#include "data/dataset.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "data/dataset_format.h"

namespace tidemill::data {
namespace {

Result<std::unique_ptr<RecordSource>> OpenSource(const std::string& path, const Tokenizer* tokenizer,
                                                 const DatasetOptions& options) {
  TM_ASSIGN_OR_RETURN(const DatasetFormat format, FormatOf(path, options.format));
  if (format == DatasetFormat::kInputIds) return OpenIdsSource(path, options);
  if (tokenizer == nullptr) {
    return Fail(ErrorCode::kInvalidArgument,
                "text needs a tokenizer (" + path + "): put tokenizer.json into the model's folder");
  }
  return format == DatasetFormat::kText ? OpenTextSource(path, *tokenizer, options)
                                        : OpenPlainTextSource(path, *tokenizer, options);
}

}  // namespace

Result<Dataset> Dataset::Open(std::span<const std::string> files, const Tokenizer* tokenizer,
                              const DatasetOptions& options) {
  TM_CHECK(options.vocab_size > 0);
  if (options.max_length < 1) return Fail(ErrorCode::kInvalidArgument, "no row fits (--max-length): give at least 1");
  if (files.empty()) return Fail(ErrorCode::kInvalidArgument, "no data (--train-data): name a file");
  Dataset dataset;
  for (const std::string& path : files) {
    TM_ASSIGN_OR_RETURN(std::unique_ptr<RecordSource> source, OpenSource(path, tokenizer, options));
    dataset.first_row_.push_back(dataset.size() + source->size());
    dataset.sources_.push_back(std::move(source));
  }
  if (dataset.size() >= UINT32_MAX) {
    return Fail(ErrorCode::kInvalidArgument,
                "the data has more than 2^32 - 2 rows (" + files[0] + "): use fewer files");
  }
  return dataset;
}

Result<Sample> Dataset::Get(uint64_t index) {
  TM_CHECK(index < size());
  const auto end = std::upper_bound(first_row_.begin(), first_row_.end(), index);
  const auto source = static_cast<size_t>(end - first_row_.begin()) - 1;
  return sources_[source]->Get(index - first_row_[source]);
}

size_t Dataset::LongestRowUpperBound() const {
  size_t longest = 0;
  for (const auto& source : sources_) longest = std::max(longest, source->LongestRowUpperBound());
  return longest;
}

uint64_t Dataset::SpecialTokensInTexts() const {
  uint64_t count = 0;
  for (const auto& source : sources_) count += source->SpecialTokensInTexts();
  return count;
}

}  // namespace tidemill::data
