// The "model" section: type BPE over the byte-level alphabet.
#include <algorithm>
#include <array>

#include "data/byte_level.h"
#include "data/tokenizer_json.h"

namespace tidemill::data {
namespace {

constexpr int64_t kMaxId = (int64_t{1} << 24) - 1;  // far beyond any vocabulary; bounds the tables that ids index

// Refuses what changes ids and is not built. Empty affixes are no affixes.
Status CheckSettings(const JsonElement& model, const std::string& where) {
  const std::string type(StringMember(model, "type").value_or("BPE"));  // GPT-2's own file does not name it
  if (type != "BPE") return NotBuilt("model '" + type + "'", where);
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const std::optional<JsonElement> value = Member(model, affix);
    if (value && StringMember(model, affix) != "") return NotBuilt(std::string("model setting '") + affix + "'", where);
  }
  const std::optional<JsonElement> dropout = Member(model, "dropout");
  double probability = 0;
  if (dropout && (dropout->get(probability) != simdjson::SUCCESS || probability != 0)) {
    return NotBuilt("model setting 'dropout'", where);
  }
  if (BoolMember(model, "byte_fallback").value_or(false)) return NotBuilt("model setting 'byte_fallback'", where);
  constexpr std::array known = {"type",
                                "dropout",
                                "unk_token",
                                "continuing_subword_prefix",
                                "end_of_word_suffix",
                                "fuse_unk",
                                "byte_fallback",
                                "ignore_merges",
                                "vocab",
                                "merges"};
  for (const auto [key, value] : simdjson::dom::object(model)) {
    const bool off = value.is_null() || (value.is_bool() && !bool(value));
    if (!off && std::find(known.begin(), known.end(), key) == known.end()) {
      return NotBuilt("model setting '" + std::string(key) + "'", where);
    }
  }
  return Ok();
}

Result<Vocabulary> ReadVocabulary(const JsonElement& model, const std::string& where) {
  simdjson::dom::object entries;
  const std::optional<JsonElement> section = Member(model, "vocab");
  if (!section || section->get(entries) != simdjson::SUCCESS)
    return BadTokenizer("model.vocab", where, "must be an object");
  Vocabulary vocabulary;
  vocabulary.reserve(entries.size());
  std::vector<bool> taken;
  for (const auto [text, value] : entries) {
    int64_t id = 0;
    if (value.get(id) != simdjson::SUCCESS || id < 0 || id > kMaxId) {
      return BadTokenizer("vocab token '" + std::string(text) + "'", where,
                          "its id must be 0 to " + std::to_string(kMaxId));
    }
    if (taken.size() <= static_cast<size_t>(id)) taken.resize(std::max(static_cast<size_t>(id) + 1, taken.size() * 2));
    if (taken[static_cast<size_t>(id)] || !vocabulary.emplace(text, static_cast<int32_t>(id)).second) {
      return BadTokenizer("vocab token '" + std::string(text) + "' or its id " + std::to_string(id) + " is there twice",
                          where, "repair the file");
    }
    taken[static_cast<size_t>(id)] = true;
  }
  return vocabulary;
}

struct MergeText {
  std::string_view left;
  std::string_view right;
};

// Both spellings: "left right" (older files), and ["left", "right"], whose tokens may contain spaces.
std::optional<MergeText> ReadMergeText(const JsonElement& entry) {
  std::string_view text;
  simdjson::dom::array pair;
  if (entry.get(text) == simdjson::SUCCESS) {
    const size_t space = text.find(' ');
    if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) return std::nullopt;
    return MergeText{text.substr(0, space), text.substr(space + 1)};
  }
  MergeText merge;
  if (entry.get(pair) != simdjson::SUCCESS || pair.size() != 2 || pair.at(0).get(merge.left) != simdjson::SUCCESS ||
      pair.at(1).get(merge.right) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  return merge;
}

Result<int32_t> IdOfMergePart(const Vocabulary& vocabulary, std::string_view token, const MergeText& merge,
                              size_t index, const std::string& where) {
  const auto found = vocabulary.find(std::string(token));
  if (found != vocabulary.end()) return found->second;
  return BadTokenizer("merge " + std::to_string(index) + ", '" + std::string(merge.left) + "' + '" +
                          std::string(merge.right) + "', needs token '" + std::string(token) +
                          "', which is not in the vocab",
                      where, "repair the file");
}

Result<MergeTable> ReadMerges(const JsonElement& model, const Vocabulary& vocabulary, const std::string& where) {
  simdjson::dom::array entries;
  const std::optional<JsonElement> section = Member(model, "merges");
  if (!section || section->get(entries) != simdjson::SUCCESS)
    return BadTokenizer("model.merges", where, "must be an array");
  MergeTable table(vocabulary.size() + entries.size());
  int32_t rank = 0;
  for (const JsonElement entry : entries) {
    const auto index = static_cast<size_t>(rank);
    const std::optional<MergeText> merge = ReadMergeText(entry);
    if (!merge) {
      return BadTokenizer("merge " + std::to_string(index), where, "must be \"left right\" or [\"left\", \"right\"]");
    }
    TM_ASSIGN_OR_RETURN(const int32_t left, IdOfMergePart(vocabulary, merge->left, *merge, index, where));
    TM_ASSIGN_OR_RETURN(const int32_t right, IdOfMergePart(vocabulary, merge->right, *merge, index, where));
    const std::string joined = std::string(merge->left) + std::string(merge->right);
    TM_ASSIGN_OR_RETURN(const int32_t result, IdOfMergePart(vocabulary, joined, *merge, index, where));
    table.Add(left, right, {rank++, result});
  }
  return table;
}

std::array<int32_t, 256> TokensOfBytes(const Vocabulary& vocabulary) {
  std::array<int32_t, 256> tokens;
  tokens.fill(-1);
  for (const auto& [text, id] : vocabulary) {
    if (text.size() > 2) continue;  // the alphabet ends below U+0800
    const std::optional<std::string> bytes = ByteLevelBytes(text);
    if (bytes && bytes->size() == 1) tokens[static_cast<uint8_t>(bytes->front())] = id;
  }
  return tokens;
}

}  // namespace

Result<ModelSection> ReadModelSection(const JsonElement& root, const std::string& where) {
  const std::optional<JsonElement> model = Member(root, "model");
  if (!model || !model->is_object()) return BadTokenizer("the file has no model", where, "repair the file");
  TM_RETURN_IF_ERROR(CheckSettings(*model, where));
  ModelSection section;
  TM_ASSIGN_OR_RETURN(section.vocabulary, ReadVocabulary(*model, where));
  TM_ASSIGN_OR_RETURN(MergeTable merges, ReadMerges(*model, section.vocabulary, where));
  BpeModel bpe{.token_of_byte = TokensOfBytes(section.vocabulary), .merges = std::move(merges), .whole_words = {}};
  bpe.fuse_unknown = BoolMember(*model, "fuse_unk").value_or(false);
  if (const auto unknown = StringMember(*model, "unk_token")) {
    const auto found = section.vocabulary.find(std::string(*unknown));
    if (found == section.vocabulary.end()) {
      return BadTokenizer("unk_token '" + std::string(*unknown) + "' is not in the vocab", where, "repair the file");
    }
    bpe.unknown_token = found->second;
  }
  if (BoolMember(*model, "ignore_merges").value_or(false)) {
    for (const auto& [text, id] : section.vocabulary) {
      if (std::optional<std::string> bytes = ByteLevelBytes(text)) bpe.whole_words.emplace(std::move(*bytes), id);
    }
  }
  section.model = std::make_unique<Bpe>(std::move(bpe));
  return section;
}

}  // namespace tidemill::data
