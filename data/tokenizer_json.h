// The sections of a tokenizer.json, one reader each. Inner to data/: ParseTokenizerJson() is what others call.
//
//   Errors  kInvalidArgument; `where` names the file.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "data/json_reading.h"
#include "data/tokenizer_parts.h"

namespace tidemill::data {

inline tl::unexpected<Error> BadTokenizer(const std::string& what, const std::string& where,
                                          const std::string& advice) {
  return Fail(ErrorCode::kInvalidArgument, what + " (" + where + "): " + advice);
}

inline tl::unexpected<Error> NotBuilt(const std::string& what, const std::string& where) {
  return BadTokenizer(what, where, "not available in this build");
}

// The type of a section, or "null".
inline std::string TypeOf(const std::optional<JsonElement>& section) {
  return section ? std::string(StringMember(*section, "type").value_or("of no type")) : "null";
}

struct ModelSection {
  Vocabulary vocabulary;
  std::unique_ptr<Bpe> model;
};

Result<ModelSection> ReadModelSection(const JsonElement& root, const std::string& where);
Result<std::unique_ptr<PreTokenizer>> ReadPreTokenizerSection(const JsonElement& root, const std::string& where);
Result<PostProcessor> ReadPostProcessorSection(const JsonElement& root, const std::string& where);
Result<AddedTokens> ReadAddedTokensSection(const JsonElement& root, const Vocabulary& vocabulary,
                                           const std::string& where);

}  // namespace tidemill::data
