// The records of one or more data files as rows of tokens, in the order of the files and of their lines.
//
// Opening reads every file once: it finds the records and checks what can be checked, so that a bad record ends a run
// before its first step. Rows are read and tokenized when they are asked for; nothing of the files stays in memory but
// 16 bytes a record (.txt files are tokenized once, into a nameless file).
//
// Policy for {"text"} records, as TRL's trainer has it: the tokenizer's template goes around a text, without doubling
// what the text has itself; the end token follows if the text does not end with it; cutting to max_length comes last,
// so a cut row gets no end token. Special tokens written inside a text become their ids (parse_special_tokens turns it
// off); SpecialTokensInTexts() says how many there are.
//
//   Ownership  borrows the tokenizer, which only text needs.
//   Threads    one thread at a time.
//   Errors     kInvalidArgument with file and line, and what to do; kIo.
//   Limits     2^32 - 1 rows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/record_source.h"
#include "data/sample.h"
#include "data/tokenizer.h"

namespace tidemill::data {

class Dataset {
 public:
  // `tokenizer` may be null if no file holds text.
  static Result<Dataset> Open(std::span<const std::string> files, const Tokenizer* tokenizer,
                              const DatasetOptions& options);

  uint64_t size() const { return first_row_.back(); }

  // Row `index`: 1 to max_length tokens, ids and labels checked.
  Result<Sample> Get(uint64_t index);

  // No row has more tokens: exact for input_ids and .txt, by the length in bytes for {"text"}; never above max_length.
  size_t LongestRowUpperBound() const;

  uint64_t SpecialTokensInTexts() const;

 private:
  std::vector<std::unique_ptr<RecordSource>> sources_;
  std::vector<uint64_t> first_row_{0};  // of each source, and the end
};

}  // namespace tidemill::data
