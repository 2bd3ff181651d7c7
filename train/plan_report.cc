#include "train/plan_report.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/byte_size.h"

namespace tidemill::train {
namespace {

using nlohmann::ordered_json;

constexpr std::array<const char*, 3> kTiers{"device", "host", "nvme"};
constexpr std::array<const char*, 6> kLanes{"compute", "upload", "download", "nvme_read", "nvme_write", "adam"};

template <typename T>
ordered_json OrNull(const std::optional<T>& value) {
  return value.has_value() ? ordered_json(*value) : ordered_json(nullptr);
}

// "  name            1.50 GiB  note"
std::string Line(std::string_view name, std::string_view value, std::string_view note = "") {
  std::string line = "  " + std::string(name);
  line.append(line.size() < 34 ? 34 - line.size() : 1, ' ');
  line += value;
  if (!note.empty()) line += "  " + std::string(note);
  return line + "\n";
}

std::string Seconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", seconds);
  return text;
}

std::string Rate(double bytes_per_s) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g GB/s", bytes_per_s / 1e9);
  return text;
}

const char* RateKind(const PlanReport::Lane& lane) { return lane.measured ? "measured" : "assumed"; }

std::string TierLines(size_t tier, const PlanReport::Tier& report) {
  if (!report.budget_bytes.has_value()) return Line(kTiers[tier], "none");
  std::string lines = Line(kTiers[tier], FormatBytes(report.peak_bytes), "of " + FormatBytes(*report.budget_bytes));
  for (const auto& [name, bytes] : report.items) lines += Line("  " + name, FormatBytes(bytes));
  return lines;
}

}  // namespace

std::string FormatPlanJson(const PlanReport& report) {
  ordered_json json;
  json["parameters"] = report.parameters;
  json["trainable_parameters"] = report.trainable_parameters;
  json["fits"] = report.fits;
  if (!report.fits) json["smallest_change"] = report.smallest_change;
  json["homes"] = ordered_json::object();
  for (const auto& [kind, home] : report.homes) json["homes"][kind] = home;
  if (!report.state_dtype.empty())
    json["optimizer_state"] = {
        {"dtype", report.state_dtype}, {"bytes", report.state_bytes}, {"master_dtype", report.master_dtype}};
  for (size_t i = 0; i < kTiers.size(); ++i) {
    const PlanReport::Tier& tier = report.tiers[i];
    ordered_json items = ordered_json::array();
    for (const auto& [name, bytes] : tier.items) items.push_back({{"name", name}, {"bytes", bytes}});
    json["tiers"][kTiers[i]] = {
        {"budget_bytes", OrNull(tier.budget_bytes)}, {"peak_bytes", tier.peak_bytes}, {"items", items}};
  }
  json["pinned_bytes"] = report.pinned_bytes;
  for (size_t i = 0; i < kLanes.size(); ++i) {
    const PlanReport::Lane& lane = report.lanes[i];
    json["lanes"][kLanes[i]] = {{"bytes", lane.bytes},
                                {"bytes_per_s", OrNull(lane.bytes_per_s)},
                                {"rate", lane.bytes_per_s ? ordered_json(RateKind(lane)) : ordered_json()},
                                {"busy_seconds", OrNull(lane.busy_seconds)},
                                {"hidden_seconds", OrNull(lane.hidden_seconds)},
                                {"exposed_seconds", OrNull(lane.exposed_seconds)}};
  }
  json["step_seconds"] = OrNull(report.step_seconds);
  json["tokens_per_second"] = OrNull(report.tokens_per_second);
  json["bound"] = OrNull(report.bound);
  json["advice"] = report.advice;
  json["nvme_bytes_written_per_step"] = report.nvme_bytes_written_per_step;
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string FormatPlan(const PlanReport& report) {
  std::string text = "parameters " + std::to_string(report.parameters);
  if (report.trainable_parameters != report.parameters)
    text += ", of which " + std::to_string(report.trainable_parameters) + " are trained";
  text += "\nhomes\n";
  for (const auto& [kind, home] : report.homes) text += Line(kind, home);
  if (!report.state_dtype.empty())
    text += "AdamW's moments are kept in " + report.state_dtype + ", the master in " + report.master_dtype + "\n" +
            Line("moments", FormatBytes(report.state_bytes));
  text += "peak of each tier\n";
  for (size_t i = 0; i < kTiers.size(); ++i) text += TierLines(i, report.tiers[i]);
  if (report.pinned_bytes > 0) text += Line("pinned host memory", FormatBytes(report.pinned_bytes));
  text += "each step moves\n";
  for (size_t i = 0; i < kLanes.size(); ++i) {
    const PlanReport::Lane& lane = report.lanes[i];
    const bool moves = kLanes[i] != std::string_view("compute") && kLanes[i] != std::string_view("adam");
    if (!moves && !lane.busy_seconds.has_value()) continue;
    std::string note = lane.busy_seconds.has_value() ? "busy " + Seconds(*lane.busy_seconds) : "";
    if (moves && lane.bytes_per_s.has_value())
      note += (note.empty() ? "at " : ", at ") + Rate(*lane.bytes_per_s) + ", " + RateKind(lane);
    text += Line(kLanes[i], moves ? FormatBytes(lane.bytes) : "", note);
  }
  if (report.step_seconds.has_value()) text += "a step takes " + Seconds(*report.step_seconds) + "\n";
  if (report.bound.has_value()) text += "bound by " + *report.bound + "\n";
  for (const std::string& advice : report.advice) text += "advice: " + advice + "\n";
  text += report.fits ? "it fits\n" : "it does not fit: " + report.smallest_change + "\n";
  return text;
}

}  // namespace tidemill::train
