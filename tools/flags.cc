#include "tools/flags.h"

#include "train/config/flag_value.h"

namespace tidemill::tools {
namespace {

bool LooksLikeFlag(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && !(word[1] >= '0' && word[1] <= '9') && word[1] != '.';
}

// "--a_b=c" -> {"a-b", "=c"}: the name folded, the rest untouched.
std::pair<std::string, std::string_view> SplitFlag(std::string_view word) {
  word.remove_prefix(word.starts_with("--") ? 2 : 1);
  const size_t equals = word.find('=');
  return {train::FoldName(word.substr(0, equals)), equals == std::string_view::npos ? "" : word.substr(equals)};
}

// A truth value takes the next word only if that is one.
bool TakesWord(const FlagSpec& spec, std::string_view word) {
  if (spec.kind == FlagKind::kBool) return train::LooksLikeBool(word) || train::IsChoice(spec.choices, word);
  return !word.starts_with("--");
}

}  // namespace

Result<Flags> Flags::Parse(std::span<const FlagSpec> table, std::span<const std::string> words,
                           std::span<const train::FlagAlias> aliases) {
  Flags flags(table);
  for (const std::string& word : words) {
    if (word == "--") break;
    flags.help_ |= word == "--help" || word == "-h";
  }
  if (flags.help_) return flags;
  for (size_t i = 0; i < words.size();) {
    if (words[i] == "--") {
      flags.positionals_.insert(flags.positionals_.end(), words.begin() + static_cast<ptrdiff_t>(i) + 1, words.end());
      break;
    }
    if (LooksLikeFlag(words[i])) {
      TM_ASSIGN_OR_RETURN(i, flags.TakeFlag(words, i, aliases));
    } else {
      flags.positionals_.push_back(words[i++]);
    }
  }
  return flags;
}

Result<size_t> Flags::TakeFlag(std::span<const std::string> words, size_t i,
                               std::span<const train::FlagAlias> aliases) {
  auto [name, assigned] = SplitFlag(words[i]);
  const std::string given = "--" + name;
  for (const train::FlagAlias& alias : aliases) {
    if (alias.alias == name) name = alias.name;
  }
  const FlagSpec* spec = train::FindFlag(table(), name);
  if (spec == nullptr)
    return Fail(ErrorCode::kInvalidArgument, "unknown flag " + given + train::NearestFlagHint(table(), name, "--"));
  std::vector<std::string> texts;
  size_t next = i + 1;
  if (!assigned.empty()) {
    texts.emplace_back(assigned.substr(1));
  } else {
    const size_t most = train::IsList(spec->kind) ? words.size() : 1;
    // After the first value of a list only what cannot be a flag continues it.
    while (next < words.size() && texts.size() < most && TakesWord(*spec, words[next]) &&
           (texts.empty() || !LooksLikeFlag(words[next])))
      texts.push_back(words[next++]);
    if (texts.empty() && spec->kind == FlagKind::kBool) texts.emplace_back("true");
  }
  if (texts.empty()) return Fail(ErrorCode::kInvalidArgument, given + " needs a value: give one after it");
  for (const std::string& text : texts) {
    TM_RETURN_IF_ERROR(train::CheckFlagText(*spec, text, given));
    Add({name, text});
  }
  return next;
}

}  // namespace tidemill::tools
