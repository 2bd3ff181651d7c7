#include "tools/help.h"

namespace tidemill::tools {
namespace {

constexpr size_t kColumns = 100, kHelpColumn = 36;

std::string Placeholder(const FlagSpec& spec) {
  switch (spec.kind) {
    case FlagKind::kBool:
      return spec.choices.empty() ? "[true|false]" : "[true|false|" + std::string(spec.choices) + "]";
    case FlagKind::kInteger:
      return "N";
    case FlagKind::kNumber:
      return "X";
    case FlagKind::kSize:
      return "SIZE";
    case FlagKind::kPath:
      return "PATH";
    case FlagKind::kPaths:
      return "PATH...";
    case FlagKind::kText:
      return "TEXT";
    case FlagKind::kTexts:
      return "TEXT...";
    case FlagKind::kJson:
      return "JSON";
  }
  return "";
}

// Words of `text` in lines of at most `kColumns`, all but the first indented to the help column.
std::string Wrapped(std::string_view text) {
  std::string out;
  size_t column = kHelpColumn;
  while (!text.empty()) {
    const size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    if (column > kHelpColumn && column + 1 + word.size() > kColumns) {
      out += "\n" + std::string(kHelpColumn, ' ');
      column = kHelpColumn;
    } else if (column > kHelpColumn) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
  }
  return out;
}

std::string FlagHelp(const FlagSpec& spec) {
  std::string line = "  --" + std::string(spec.name) + " " + Placeholder(spec);
  if (line.size() + 2 > kHelpColumn) line += "\n" + std::string(kHelpColumn, ' ');
  if (line.size() < kHelpColumn) line.append(kHelpColumn - line.size(), ' ');
  std::string help(spec.help);
  if (!spec.choices.empty() && spec.kind != FlagKind::kBool) {
    help += (spec.kind == FlagKind::kText ? ": " : "; or ") + train::ChoicesText(spec.choices);
  }
  if (!spec.default_text.empty()) help += " (default " + std::string(spec.default_text) + ")";
  return line + Wrapped(help) + "\n";
}

}  // namespace

std::string CommandHelp(const Command& command) {
  std::string text = "usage: tidemill " + std::string(command.name) + " " + std::string(command.arguments) + "\n\n" +
                     std::string(command.summary) + "\n\n";
  for (const FlagSpec& spec : command.flags()) text += FlagHelp(spec);
  return text;
}

std::string ProgramHelp(std::span<const Command* const> commands, std::string_view family) {
  std::string text = "usage: tidemill <command> [flags]\n\n";
  for (const Command* command : commands) {
    if (!family.empty() && !command->name.starts_with(std::string(family) + " ")) continue;
    std::string line = "  " + std::string(command->name);
    line.append(line.size() < 16 ? 16 - line.size() : 1, ' ');
    text += line + std::string(command->summary) + "\n";
  }
  return text + "\ntidemill <command> --help lists a command's flags; tidemill --version prints the version.\n";
}

}  // namespace tidemill::tools
