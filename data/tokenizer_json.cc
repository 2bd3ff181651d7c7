#include "data/tokenizer_json.h"

#include <algorithm>

namespace tidemill::data {
namespace {

Status CheckNormalizer(const JsonElement& root, const std::string& where) {
  const std::optional<JsonElement> normalizer = Member(root, "normalizer");
  return normalizer ? NotBuilt("normalizer '" + TypeOf(normalizer) + "'", where) : Ok();
}

Status CheckDecoder(const JsonElement& root, const std::string& where) {
  const std::string type = TypeOf(Member(root, "decoder"));
  return type == "ByteLevel" ? Ok() : NotBuilt("decoder '" + type + "'", where);
}

Result<AddedToken> ReadAddedToken(const JsonElement& entry, const std::string& where) {
  const std::optional<std::string_view> content = StringMember(entry, "content");
  const std::optional<int64_t> id = IntMember(entry, "id");
  if (!content || !id) return BadTokenizer("an added token lacks its id or content", where, "repair the file");
  AddedToken token;
  token.content = std::string(*content);
  if (*id < 0 || *id > INT32_MAX) {
    return BadTokenizer("added token '" + token.content + "' has id " + std::to_string(*id), where, "repair the file");
  }
  token.id = static_cast<int32_t>(*id);
  token.special = BoolMember(entry, "special").value_or(false);
  token.lstrip = BoolMember(entry, "lstrip").value_or(false);
  token.rstrip = BoolMember(entry, "rstrip").value_or(false);
  token.single_word = BoolMember(entry, "single_word").value_or(false);
  token.normalized = BoolMember(entry, "normalized").value_or(!token.special);
  return token;
}

}  // namespace

// The reference numbers an added token by the vocabulary if it is in there, else the next free id, whatever the file
// says. A file that says something else is refused: one of the two would be wrong.
Result<AddedTokens> ReadAddedTokensSection(const JsonElement& root, const Vocabulary& vocabulary,
                                           const std::string& where) {
  AddedTokens tokens;
  const std::optional<JsonElement> section = Member(root, "added_tokens");
  if (!section) return tokens;
  simdjson::dom::array entries;
  if (section->get(entries) != simdjson::SUCCESS) return BadTokenizer("added_tokens", where, "must be an array");
  auto next_id = static_cast<int64_t>(vocabulary.size());
  std::unordered_map<std::string, int32_t> seen;
  for (const JsonElement entry : entries) {
    TM_ASSIGN_OR_RETURN(AddedToken token, ReadAddedToken(entry, where));
    if (token.content.empty()) continue;
    const auto known = vocabulary.find(token.content);
    const auto [first, fresh] = seen.try_emplace(token.content, token.id);
    const int64_t due = known != vocabulary.end() ? known->second : fresh ? next_id : first->second;
    if (token.id != due) {
      return BadTokenizer("added token '" + token.content + "' has id " + std::to_string(token.id) + ", its place is " +
                              std::to_string(due),
                          where, "renumber it, or let `tokenizers` write the file anew");
    }
    next_id = std::max(next_id, int64_t{token.id} + 1);
    if (fresh) tokens.Add(std::move(token));
  }
  return tokens;
}

Result<TokenizerParts> ParseTokenizerJson(std::string_view json, const std::string& where) {
  simdjson::dom::parser parser;
  JsonElement root;
  if (const auto error = parser.parse(json.data(), json.size()).get(root); error != simdjson::SUCCESS) {
    return BadTokenizer(std::string("no valid JSON, ") + simdjson::error_message(error), where, "repair the file");
  }
  if (!root.is_object()) return BadTokenizer("the top level is no object", where, "repair the file");
  TM_RETURN_IF_ERROR(CheckNormalizer(root, where));
  TokenizerParts parts;
  TM_ASSIGN_OR_RETURN(parts.pre_tokenizer, ReadPreTokenizerSection(root, where));
  TM_ASSIGN_OR_RETURN(parts.post_processor, ReadPostProcessorSection(root, where));
  TM_RETURN_IF_ERROR(CheckDecoder(root, where));
  TM_ASSIGN_OR_RETURN(ModelSection model, ReadModelSection(root, where));
  parts.vocabulary = std::move(model.vocabulary);
  parts.model = std::move(model.model);
  TM_ASSIGN_OR_RETURN(parts.added_tokens, ReadAddedTokensSection(root, parts.vocabulary, where));
  return parts;
}

}  // namespace tidemill::data
