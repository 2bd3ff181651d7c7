#include "data/end_token.h"

#include "data/input_file.h"
#include "data/json_reading.h"

namespace tidemill::data {
namespace {

constexpr uint64_t kConfigBytes = uint64_t{64} << 20;

// The file's JSON through `parser`; nothing if there is no such file.
Result<std::optional<JsonElement>> ReadConfig(const std::string& path, simdjson::dom::parser& parser) {
  if (!FileIsThere(path)) return std::nullopt;
  TM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kConfigBytes));
  JsonElement root;
  if (parser.parse(text).get(root) == simdjson::SUCCESS) return std::optional(root);
  return Fail(ErrorCode::kInvalidArgument, "no valid JSON (" + path + "): repair the file");
}

// "eos_token": a string, or an object with its content.
std::optional<std::string> EndTokenText(const JsonElement& config) {
  if (const auto text = StringMember(config, "eos_token")) return std::string(*text);
  const std::optional<JsonElement> token = Member(config, "eos_token");
  const auto content = token ? StringMember(*token, "content") : std::nullopt;
  return content ? std::optional(std::string(*content)) : std::nullopt;
}

// "eos_token_id": a number, or a list of them.
std::optional<int64_t> EndTokenId(const JsonElement& config) {
  if (const auto id = IntMember(config, "eos_token_id")) return id;
  const std::optional<JsonElement> list = Member(config, "eos_token_id");
  simdjson::dom::array ids;
  int64_t first = 0;
  if (!list || list->get(ids) != simdjson::SUCCESS || ids.at(0).get(first) != simdjson::SUCCESS) return std::nullopt;
  return first;
}

}  // namespace

Result<std::optional<int32_t>> FindEndToken(const std::string& model_dir, const Tokenizer& tokenizer) {
  simdjson::dom::parser parser;
  const std::string tokenizer_config = model_dir + "/tokenizer_config.json";
  TM_ASSIGN_OR_RETURN(const std::optional<JsonElement> named, ReadConfig(tokenizer_config, parser));
  if (const auto text = named ? EndTokenText(*named) : std::nullopt) {
    if (const auto id = tokenizer.IdOf(*text)) return id;
    return Fail(ErrorCode::kInvalidArgument, "eos_token '" + *text + "' is no token of tokenizer.json (" +
                                                 tokenizer_config + "): correct one of the two");
  }
  for (const char* name : {"/generation_config.json", "/config.json"}) {
    const std::string path = model_dir + name;
    TM_ASSIGN_OR_RETURN(const std::optional<JsonElement> config, ReadConfig(path, parser));
    const std::optional<int64_t> id = config ? EndTokenId(*config) : std::nullopt;
    if (!id) continue;
    if (*id >= 0 && *id <= tokenizer.max_id()) return static_cast<int32_t>(*id);
    return Fail(ErrorCode::kInvalidArgument, "eos_token_id " + std::to_string(*id) +
                                                 " is no token of tokenizer.json (" + path +
                                                 "): correct one of the two");
  }
  return std::nullopt;
}

}  // namespace tidemill::data
