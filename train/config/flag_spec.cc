#include "train/config/flag_spec.h"

#include <algorithm>
#include <numeric>

namespace tidemill::train {
namespace {

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string FoldName(std::string_view name) {
  std::string folded(name);
  std::replace(folded.begin(), folded.end(), '_', '-');
  return folded;
}

const FlagSpec* FindFlag(std::span<const FlagSpec> table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const FlagSpec& spec) { return spec.name == name; });
  return found == table.end() ? nullptr : &*found;
}

bool IsChoice(std::string_view choices, std::string_view text) {
  while (!choices.empty()) {
    const size_t bar = choices.find('|');
    if (choices.substr(0, bar) == text) return true;
    choices = bar == std::string_view::npos ? std::string_view() : choices.substr(bar + 1);
  }
  return false;
}

std::string ChoicesText(std::string_view choices) {
  std::string text;
  for (const char c : choices) text += c == '|' ? std::string(", ") : std::string(1, c);
  return text;
}

std::string NearestName(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view best;
  size_t best_distance = std::max<size_t>(2, name.size() / 2) + 1;  // that far away it is another word
  for (const std::string_view candidate : candidates) {
    const size_t distance = EditDistance(name, candidate);
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  if (!best.empty() || name.size() < 3) return std::string(best);
  for (const std::string_view candidate : candidates) {  // a part of a name: "epochs" for "num-train-epochs"
    if (candidate.find(name) != std::string_view::npos) return std::string(candidate);
  }
  return {};
}

std::string NearestFlagHint(std::span<const FlagSpec> table, std::string_view name, std::string_view prefix) {
  std::vector<std::string_view> names;
  for (const FlagSpec& spec : table) names.push_back(spec.name);
  const std::string nearest = NearestName(name, names);
  return nearest.empty() ? std::string() : ": did you mean " + std::string(prefix) + nearest;
}

}  // namespace tidemill::train
