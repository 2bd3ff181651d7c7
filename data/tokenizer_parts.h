// A tokenizer.json, read and checked: the parts that Tokenizer puts together.
//
// What would change ids and is not built is refused by name, never skipped:
//   "pre_tokenizer 'Metaspace' (DIR/tokenizer.json): not available in this build".
// Sections that the callers of the reference set anew for each call (truncation, padding) are not obeyed.
//
//   Errors  kInvalidArgument, naming the section, the key, the merge or the token.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "data/added_tokens.h"
#include "data/bpe.h"
#include "data/post_processor.h"
#include "data/pre_tokenizer.h"

namespace tidemill::data {

using Vocabulary = std::unordered_map<std::string, int32_t>;  // a token's text, as the file spells it, to its id

struct TokenizerParts {
  Vocabulary vocabulary;
  std::unique_ptr<Bpe> model;
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  AddedTokens added_tokens;
  PostProcessor post_processor;
};

// `where` names the file in messages.
Result<TokenizerParts> ParseTokenizerJson(std::string_view json, const std::string& where);

}  // namespace tidemill::data
