// Which token ends a text, by the files of a model's folder.
//
//   Errors  kInvalidArgument: a file is no JSON, or names a token that the tokenizer does not have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "data/tokenizer.h"

namespace tidemill::data {

// The eos_token of tokenizer_config.json; else the eos_token_id, the first of a list, of generation_config.json or
// config.json; nothing if none of them names one. Files that are not there are passed over.
Result<std::optional<int32_t>> FindEndToken(const std::string& model_dir, const Tokenizer& tokenizer);

}  // namespace tidemill::data
