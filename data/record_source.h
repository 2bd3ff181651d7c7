// The records of one data file, by number. Dataset joins the sources of all files; a new format is a sibling of
// ids_source.cc and a row in dataset_format.cc.
//
//   Ownership  a source owns its open file and index, not the texts; it borrows the tokenizer.
//   Threads    one thread at a time.
//   Errors     kInvalidArgument with file and line for a bad record, kIo when the file cannot be read. What a maker can
//              check without tokenizing it checks at once, over the whole file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "data/sample.h"
#include "data/tokenizer.h"

namespace tidemill::data {

struct DatasetOptions {
  size_t max_length = 1024;                // tokens of a row; longer ones are cut at the end, and get no end token then
  int64_t vocab_size = 0;                  // rows of the model's embedding: every id must be below
  std::string format = "auto";             // a name of data/dataset_format.h; auto: by each file's first record
  std::optional<int32_t> append_eos = {};  // {"text"} records end with this id, unless they do already
  bool parse_special_tokens = true;        // special tokens written inside a text become their ids
  std::filesystem::path spool_dir = {};    // where a .txt file's ids are kept while the run lasts; empty: the system's
};

class RecordSource {
 public:
  virtual ~RecordSource() = default;

  virtual uint64_t size() const = 0;

  // Record `index` as a row: at least one token, at most max_length, every id below vocab_size.
  virtual Result<Sample> Get(uint64_t index) = 0;

  // No row is longer than this.
  virtual size_t LongestRowUpperBound() const = 0;

  // Special tokens that are written out in the texts.
  virtual uint64_t SpecialTokensInTexts() const { return 0; }
};

Result<std::unique_ptr<RecordSource>> OpenIdsSource(const std::string& path, const DatasetOptions& options);
Result<std::unique_ptr<RecordSource>> OpenTextSource(const std::string& path, const Tokenizer& tokenizer,
                                                     const DatasetOptions& options);
Result<std::unique_ptr<RecordSource>> OpenPlainTextSource(const std::string& path, const Tokenizer& tokenizer,
                                                          const DatasetOptions& options);

}  // namespace tidemill::data
