// The "pre_tokenizer" and "post_processor" sections.
#include "data/tokenizer_json.h"

namespace tidemill::data {
namespace {

Result<bool> RequiredFlag(const JsonElement& section, const char* key, const std::string& where) {
  if (const std::optional<bool> flag = BoolMember(section, key)) return *flag;
  return BadTokenizer(TypeOf(section) + " lacks '" + key + "'", where, "repair the file");
}

// ByteLevel spells the bytes in its own alphabet, so nothing that looks at characters may come after it.
Result<std::unique_ptr<PreTokenizer>> ReadLink(const JsonElement& section, bool last, const std::string& where) {
  const std::string type = TypeOf(section);
  if (type == "Digits") {
    TM_ASSIGN_OR_RETURN(const bool individual, RequiredFlag(section, "individual_digits", where));
    if (last) return NotBuilt("pre_tokenizer without a ByteLevel at its end", where);
    return MakeDigitsPreTokenizer(individual);
  }
  if (type != "ByteLevel") return NotBuilt("pre_tokenizer '" + type + "'", where);
  if (!last) return NotBuilt("a pre_tokenizer after ByteLevel", where);
  TM_ASSIGN_OR_RETURN(const bool add_prefix_space, RequiredFlag(section, "add_prefix_space", where));
  return MakeByteLevelPreTokenizer(add_prefix_space, BoolMember(section, "use_regex").value_or(true));
}

Result<PostProcessor> ReadTemplate(const JsonElement& section, const std::string& where) {
  const std::optional<JsonElement> single = Member(section, "single");
  simdjson::dom::array items;
  if (!single || single->get(items) != simdjson::SUCCESS) {
    return BadTokenizer("TemplateProcessing lacks 'single'", where, "repair the file");
  }
  const std::optional<JsonElement> special = Member(section, "special_tokens");
  PostProcessor processor;
  int sequences = 0;
  for (const JsonElement item : items) {
    if (const std::optional<JsonElement> sequence = Member(item, "Sequence")) {
      if (StringMember(*sequence, "id") != "A") return NotBuilt("a template of several texts", where);
      ++sequences;
      continue;
    }
    const std::optional<JsonElement> token = Member(item, "SpecialToken");
    const std::string name(token ? StringMember(*token, "id").value_or("") : "");
    const std::optional<JsonElement> entry = special ? Member(*special, name) : std::nullopt;
    const std::optional<JsonElement> ids = entry ? Member(*entry, "ids") : std::nullopt;
    simdjson::dom::array values;
    if (!ids || ids->get(values) != simdjson::SUCCESS) {
      return BadTokenizer("template token '" + name + "' has no ids", where, "repair the file");
    }
    for (const JsonElement value : values) {
      int64_t id = 0;
      if (value.get(id) != simdjson::SUCCESS || id < 0 || id > INT32_MAX) {
        return BadTokenizer("template token '" + name + "' has a bad id", where, "repair the file");
      }
      (sequences == 0 ? processor.before : processor.after).push_back(static_cast<int32_t>(id));
    }
  }
  if (sequences != 1) return NotBuilt("a template that does not hold its text once", where);
  return processor;
}

Result<PostProcessor> ReadProcessor(const JsonElement& section, const std::string& where) {
  const std::string type = TypeOf(section);
  if (type == "ByteLevel") return PostProcessor{};  // trims offsets; ids stay
  if (type == "TemplateProcessing") return ReadTemplate(section, where);
  return NotBuilt("post_processor '" + type + "'", where);
}

Result<simdjson::dom::array> Links(const JsonElement& section, const char* key, const std::string& where) {
  const std::optional<JsonElement> links = Member(section, key);
  simdjson::dom::array items;
  if (links && links->get(items) == simdjson::SUCCESS) return items;
  return BadTokenizer(std::string("Sequence lacks '") + key + "'", where, "repair the file");
}

}  // namespace

Result<std::unique_ptr<PreTokenizer>> ReadPreTokenizerSection(const JsonElement& root, const std::string& where) {
  const std::optional<JsonElement> section = Member(root, "pre_tokenizer");
  if (!section) return NotBuilt("pre_tokenizer 'null'", where);
  if (TypeOf(section) != "Sequence") return ReadLink(*section, true, where);
  TM_ASSIGN_OR_RETURN(const simdjson::dom::array items, Links(*section, "pretokenizers", where));
  if (items.size() == 0) return NotBuilt("an empty pre_tokenizer 'Sequence'", where);
  std::vector<std::unique_ptr<PreTokenizer>> links;
  for (const JsonElement item : items) {
    TM_ASSIGN_OR_RETURN(std::unique_ptr<PreTokenizer> link, ReadLink(item, links.size() + 1 == items.size(), where));
    links.push_back(std::move(link));
  }
  return MakeSequencePreTokenizer(std::move(links));
}

Result<PostProcessor> ReadPostProcessorSection(const JsonElement& root, const std::string& where) {
  const std::optional<JsonElement> section = Member(root, "post_processor");
  if (!section) return PostProcessor{};
  if (TypeOf(section) != "Sequence") return ReadProcessor(*section, where);
  TM_ASSIGN_OR_RETURN(const simdjson::dom::array items, Links(*section, "processors", where));
  PostProcessor all;
  for (const JsonElement item : items) {
    TM_ASSIGN_OR_RETURN(const PostProcessor outer, ReadProcessor(item, where));
    all = all.Inside(outer);
  }
  return all;
}

}  // namespace tidemill::data
