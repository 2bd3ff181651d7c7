// One row of a flag table. The same row drives parsing, the help text, the JSON configuration and the error messages,
// so that the four cannot disagree.
//
//   Limits   tables are constant data; everything here refers to text that lives as long as the program.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tidemill::train {

enum class FlagKind : uint8_t {
  kText,     // one value, any text
  kBool,     // true or false; the value may be left out, which means true
  kInteger,  // a whole number; 5e8 is one
  kNumber,   // a finite number
  kSize,     // bytes, with or without a unit
  kPath,     // a file or a folder
  kTexts,    // one or more values; given again, they add up
  kPaths,    // the same, of paths
  kJson,     // an object
};

struct FlagSpec {
  std::string_view name;          // spelled with '-'
  FlagKind kind;                  // a value has this kind, or is one of `choices`
  std::string_view default_text;  // as the help prints it; empty: none
  std::string_view help;
  std::string_view choices = "";  // "auto|fp32|bf16": for kText all there are, for the others words besides
};

// Another spelling of a flag: of another generation of Hugging Face, mostly. Both are spelled with '-'.
struct FlagAlias {
  std::string_view alias, name;
};

inline bool IsList(FlagKind kind) { return kind == FlagKind::kTexts || kind == FlagKind::kPaths; }

// A flag as it was given. `name` is always a name of the table.
struct FlagValue {
  std::string name, text;
};

// '_' and '-' are the same inside a name: "learning_rate" becomes "learning-rate".
std::string FoldName(std::string_view name);

// The row of `name`, or null.
const FlagSpec* FindFlag(std::span<const FlagSpec> table, std::string_view name);

// Whether `text` is one of "a|b|c".
bool IsChoice(std::string_view choices, std::string_view text);

// "a|b|c" as "a, b, c", for messages and help.
std::string ChoicesText(std::string_view choices);

// The candidate with the smallest edit distance to `name`; empty if none is near enough to be meant.
std::string NearestName(std::string_view name, std::span<const std::string_view> candidates);

// ": did you mean --NEAREST", or empty, for the end of an error about an unknown flag.
std::string NearestFlagHint(std::span<const FlagSpec> table, std::string_view name, std::string_view prefix);

}  // namespace tidemill::train
