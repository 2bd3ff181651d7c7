#include "data/gguf_tokenizer.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "data/json_text.h"

namespace tidemill::data {
namespace {

constexpr int64_t kControl = 3, kUserDefined = 4;  // values of tokenizer.ggml.token_type

// The splitting rules of Llama 3 and Qwen 2 as their own tokenizer.json files state them: they differ in how many
// digits make a word.
constexpr std::string_view kLlama3Split =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Split =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

struct SplitRule {
  std::string_view name;
  bool single_digits = false;
  std::string_view regex = {};  // empty: GPT-2's, which ByteLevel knows
  bool nfc = false, ignore_merges = false, adds_bos = false;
};
constexpr std::array<SplitRule, 5> kRules{
    {{.name = "smollm", .single_digits = true},
     {.name = "gpt-2"},
     {.name = "default"},
     {.name = "llama-bpe", .regex = kLlama3Split, .ignore_merges = true, .adds_bos = true},
     {.name = "qwen2", .regex = kQwen2Split, .nfc = true}}};

struct Tokenizer {
  const SplitRule* rule = nullptr;
  const std::vector<std::string>* tokens = nullptr;
  const std::vector<std::string>* merges = nullptr;
  std::vector<std::pair<int64_t, bool>> added;  // id, special
  std::optional<int64_t> first, last;           // ids put around a text
  const std::string* chat_template = nullptr;

  const std::string& Token(int64_t id) const { return (*tokens)[static_cast<size_t>(id)]; }
};

tl::unexpected<Error> Refuse(const std::string& what, const GgufMetadata& keys) {
  return Fail(ErrorCode::kInvalidArgument, what + " ('" + keys.path() + "'): this tokenizer cannot be imported");
}

Result<const SplitRule*> FindRule(const GgufMetadata& keys) {
  const auto* name = keys.Find<std::string>("tokenizer.ggml.pre");
  const std::string_view wanted = name == nullptr ? std::string_view("default") : *name;
  for (const SplitRule& rule : kRules) {
    if (rule.name == wanted) return &rule;
  }
  return Refuse("pre-tokenizer '" + *name + "' (tokenizer.ggml.pre) is not known", keys);
}

Status CheckTokens(const GgufMetadata& keys, const GgufModel& model, const Tokenizer& tokenizer) {
  if (tokenizer.tokens->size() > static_cast<size_t>(model.vocab_rows))
    return Refuse(std::to_string(tokenizer.tokens->size()) + " tokens for " + std::to_string(model.vocab_rows) +
                      " rows of the embedding",
                  keys);
  std::unordered_set<std::string_view> seen;
  for (const std::string& token : *tokenizer.tokens) {
    if (!simdjson::validate_utf8(token)) return Refuse("a token that is not UTF-8", keys);
    if (!seen.insert(token).second) return Refuse("token '" + token + "' is there twice", keys);
  }
  for (const std::string& merge : *tokenizer.merges) {
    if (!simdjson::validate_utf8(merge)) return Refuse("a merge that is not UTF-8", keys);
  }
  if (tokenizer.chat_template != nullptr && !simdjson::validate_utf8(*tokenizer.chat_template))
    return Refuse("a chat template that is not UTF-8", keys);
  for (const auto& id : {model.bos, model.eos, model.unk, model.pad}) {
    if (id && *id >= static_cast<int64_t>(tokenizer.tokens->size()))
      return Refuse("special token id " + std::to_string(*id) + " is beyond the tokens", keys);
  }
  return Ok();
}

Result<Tokenizer> ReadTokenizer(const GgufMetadata& keys, const GgufModel& model) {
  Tokenizer tokenizer;
  TM_ASSIGN_OR_RETURN(tokenizer.rule, FindRule(keys));
  tokenizer.tokens = keys.Find<std::vector<std::string>>("tokenizer.ggml.tokens");
  tokenizer.merges = keys.Find<std::vector<std::string>>("tokenizer.ggml.merges");
  if (tokenizer.tokens == nullptr) return Refuse("key 'tokenizer.ggml.tokens' is missing", keys);
  if (tokenizer.merges == nullptr) return Refuse("key 'tokenizer.ggml.merges' is missing", keys);
  tokenizer.chat_template = keys.Find<std::string>("tokenizer.chat_template");
  TM_RETURN_IF_ERROR(CheckTokens(keys, model, tokenizer));
  if (const auto* types = keys.Find<std::vector<int64_t>>("tokenizer.ggml.token_type")) {
    if (types->size() != tokenizer.tokens->size())
      return Refuse(
          std::to_string(types->size()) + " token types for " + std::to_string(tokenizer.tokens->size()) + " tokens",
          keys);
    for (size_t id = 0; id < types->size(); ++id) {
      if ((*types)[id] == kControl || (*types)[id] == kUserDefined)
        tokenizer.added.emplace_back(static_cast<int64_t>(id), (*types)[id] == kControl);
    }
  }
  const auto* bos = keys.Find<bool>("tokenizer.ggml.add_bos_token");
  const auto* eos = keys.Find<bool>("tokenizer.ggml.add_eos_token");
  if (bos == nullptr ? tokenizer.rule->adds_bos : *bos) tokenizer.first = model.bos;
  if (eos != nullptr && *eos) tokenizer.last = model.eos;
  return tokenizer;
}

void AddedToken(JsonWriter& json, const std::string& content, bool special) {
  json.Text("content", content).Bool("single_word", false).Bool("lstrip", false).Bool("rstrip", false);
  json.Bool("normalized", false).Bool("special", special);
}

void ByteLevel(JsonWriter& json, bool add_prefix_space, bool use_regex) {
  json.BeginObject().Text("type", "ByteLevel").Bool("add_prefix_space", add_prefix_space);
  json.Bool("trim_offsets", true).Bool("use_regex", use_regex).EndObject();
}

void PreTokenizer(JsonWriter& json, const SplitRule& rule) {
  json.Key("pre_tokenizer");
  if (!rule.single_digits && rule.regex.empty()) return ByteLevel(json, false, true);
  json.BeginObject().Text("type", "Sequence").Key("pretokenizers").BeginArray();
  if (rule.single_digits) json.BeginObject().Text("type", "Digits").Bool("individual_digits", true).EndObject();
  if (!rule.regex.empty()) {
    json.BeginObject().Text("type", "Split").Key("pattern").BeginObject().Text("Regex", rule.regex).EndObject();
    json.Text("behavior", "Isolated").Bool("invert", false).EndObject();
  }
  ByteLevel(json, false, rule.regex.empty());
  json.EndArray().EndObject();
}

void TemplatePiece(JsonWriter& json, std::string_view kind, std::string_view id, int64_t type_id) {
  json.BeginObject().Key(kind).BeginObject().Text("id", id).Integer("type_id", type_id).EndObject().EndObject();
}

void TemplateText(JsonWriter& json, const Tokenizer& tokenizer, std::string_view text, int64_t type_id) {
  if (tokenizer.first) TemplatePiece(json, "SpecialToken", tokenizer.Token(*tokenizer.first), type_id);
  TemplatePiece(json, "Sequence", text, type_id);
  if (tokenizer.last) TemplatePiece(json, "SpecialToken", tokenizer.Token(*tokenizer.last), type_id);
}

void PostProcessor(JsonWriter& json, const Tokenizer& tokenizer) {
  if (!tokenizer.first && !tokenizer.last) return void(json.Null("post_processor"));
  json.Key("post_processor").BeginObject().Text("type", "TemplateProcessing").Key("single").BeginArray();
  TemplateText(json, tokenizer, "A", 0);
  json.EndArray().Key("pair").BeginArray();
  TemplateText(json, tokenizer, "A", 0);
  TemplateText(json, tokenizer, "B", 1);
  json.EndArray().Key("special_tokens").BeginObject();
  for (const auto& id : {tokenizer.first, tokenizer.first == tokenizer.last ? std::nullopt : tokenizer.last}) {
    if (!id) continue;
    json.Key(tokenizer.Token(*id)).BeginObject().Text("id", tokenizer.Token(*id)).Key("ids").BeginArray().Integer(*id);
    json.EndArray().Texts("tokens", {tokenizer.Token(*id)}).EndObject();
  }
  json.EndObject().EndObject();
}

std::string TokenizerJson(const Tokenizer& tokenizer) {
  JsonWriter json;
  json.BeginObject().Text("version", "1.0").Null("truncation").Null("padding").Key("added_tokens").BeginArray();
  for (const auto& [id, special] : tokenizer.added) {
    json.BeginObject().Integer("id", id);
    AddedToken(json, tokenizer.Token(id), special);
    json.EndObject();
  }
  json.EndArray();
  if (tokenizer.rule->nfc) {
    json.Key("normalizer").BeginObject().Text("type", "NFC").EndObject();
  } else {
    json.Null("normalizer");
  }
  PreTokenizer(json, *tokenizer.rule);
  PostProcessor(json, tokenizer);
  json.Key("decoder");
  ByteLevel(json, true, true);
  json.Key("model")
      .BeginObject()
      .Text("type", "BPE")
      .Null("dropout")
      .Null("unk_token")
      .Null("continuing_subword_prefix");
  json.Null("end_of_word_suffix").Bool("fuse_unk", false).Bool("byte_fallback", false);
  json.Bool("ignore_merges", tokenizer.rule->ignore_merges).Key("vocab").BeginObject();
  for (size_t id = 0; id < tokenizer.tokens->size(); ++id)
    json.Integer((*tokenizer.tokens)[id], static_cast<int64_t>(id));
  json.EndObject().Texts("merges", *tokenizer.merges).EndObject().EndObject();
  return json.Finish();
}

void SpecialNames(JsonWriter& json, const Tokenizer& tokenizer, const GgufModel& model) {
  if (model.bos) json.Text("bos_token", tokenizer.Token(*model.bos));
  if (model.eos) json.Text("eos_token", tokenizer.Token(*model.eos));
  if (model.unk) json.Text("unk_token", tokenizer.Token(*model.unk));
  if (model.pad) json.Text("pad_token", tokenizer.Token(*model.pad));
}

// The markers of a chat turn, where the vocabulary has them: the special tokens beyond bos, eos, unk and pad.
std::vector<std::string> TurnMarkers(const Tokenizer& tokenizer) {
  std::vector<std::string> markers;
  for (const char* marker : {"<|im_start|>", "<|im_end|>"}) {
    const bool is_there = std::any_of(tokenizer.added.begin(), tokenizer.added.end(), [&](const auto& token) {
      return token.second && tokenizer.Token(token.first) == marker;
    });
    if (is_there) markers.emplace_back(marker);
  }
  return markers;
}

std::string TokenizerConfigJson(const Tokenizer& tokenizer, const GgufModel& model) {
  JsonWriter json;
  json.BeginObject();
  SpecialNames(json, tokenizer, model);
  json.Bool("add_prefix_space", false).Key("added_tokens_decoder").BeginObject();
  for (const auto& [id, special] : tokenizer.added) {
    json.Key(std::to_string(id)).BeginObject();
    AddedToken(json, tokenizer.Token(id), special);
    json.EndObject();
  }
  json.EndObject();
  if (const auto markers = TurnMarkers(tokenizer); !markers.empty()) json.Texts("additional_special_tokens", markers);
  if (tokenizer.chat_template != nullptr) json.Text("chat_template", *tokenizer.chat_template);
  json.Bool("clean_up_tokenization_spaces", false).Integer("model_max_length", model.context);
  json.Text("tokenizer_class", "PreTrainedTokenizerFast");
  json.Integer("vocab_size", static_cast<int64_t>(tokenizer.tokens->size())).EndObject();
  return json.Finish();
}

std::string SpecialTokensMapJson(const Tokenizer& tokenizer, const GgufModel& model) {
  JsonWriter json;
  json.BeginObject();
  SpecialNames(json, tokenizer, model);
  if (const auto markers = TurnMarkers(tokenizer); !markers.empty()) json.Texts("additional_special_tokens", markers);
  return json.EndObject().Finish();
}

}  // namespace

Result<std::optional<TokenizerFiles>> ReadGgufTokenizer(const GgufMetadata& keys, const GgufModel& model) {
  const auto* kind = keys.Find<std::string>("tokenizer.ggml.model");
  if (kind == nullptr || *kind == "none") return std::nullopt;
  if (*kind != "gpt2")
    return Refuse("tokenizer '" + *kind + "' (tokenizer.ggml.model) is not supported, only gpt2", keys);
  TM_ASSIGN_OR_RETURN(const Tokenizer tokenizer, ReadTokenizer(keys, model));
  return TokenizerFiles{TokenizerJson(tokenizer), TokenizerConfigJson(tokenizer, model),
                        SpecialTokensMapJson(tokenizer, model)};
}

}  // namespace tidemill::data
