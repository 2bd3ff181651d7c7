#include "tools/tune_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/byte_size.h"

namespace tidemill::tools {
namespace {

using nlohmann::ordered_json;
using train::IoProfile;

// fp32: param and two moments; bf16: param, rest and two moments. Read and written once a step.
constexpr double kStateBytes = 12;
constexpr double kSlots = 2;                // of every page on a drive
constexpr double kComfortableSeconds = 30;  // for moving all state once
constexpr double kQueueLimitsAbove = 1.1;   // times as much with a deep queue

__attribute__((format(printf, 1, 2))) std::string Print(const char* format, ...) {
  std::array<char, 512> text{};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  return text.data();
}

std::string Gb(double bytes_per_s) { return Print("%.3g GB/s", bytes_per_s / 1e9); }

// A direction that moved nothing in the time it had was not measured: a profile has rates above 0 only.
std::optional<double> Measured(double rate) {
  const double whole = std::round(rate);
  return whole > 0 ? std::optional(whole) : std::nullopt;
}

std::string PointText(const io::BenchPoint& point) {
  return std::string(io::Name(point.engine)) + ", bs " + FormatBytes(point.block_bytes) + ", iodepth " +
         std::to_string(point.depth) + ", numjobs " + std::to_string(point.jobs);
}

std::string Parameters(double count) {
  return count >= 1e9 ? Print("%.3g billion parameters", count / 1e9) : Print("%.3g million parameters", count / 1e6);
}

// Of each turn: how much more the drives move with a deep queue.
std::vector<double> DeepGains(const io::TuneResult& tuned) {
  std::vector<double> gains;
  for (size_t i = 0; i < std::min(tuned.swap.size(), tuned.saturated.size()); ++i)
    if (tuned.swap[i] > 0) gains.push_back(tuned.saturated[i] / tuned.swap[i]);
  return gains;
}

std::string LimitSentence(const io::TuneResult& tuned) {
  const std::vector<double> gains = DeepGains(tuned);
  if (gains.empty()) return "";
  const double median = io::MedianOf(gains);
  const std::string figure = Print("%.2f times as much with many more blocks in flight", median);
  if (*std::min_element(gains.begin(), gains.end()) > kQueueLimitsAbove)
    return "the queue is the limit: the drive moves " + figure + ", in every turn";
  if (median <= kQueueLimitsAbove) return "the drive is the limit: it moves " + figure;
  return "no difference above noise between training's queue and a deep one: " + figure;
}

std::string LinkSentence(const IoProfile& profile, double read_bytes_per_s) {
  if (!profile.upload_bytes_per_s.has_value()) return "";
  const double link = *profile.upload_bytes_per_s;
  return read_bytes_per_s < link ? "the drives feed " + Print("%.0f %%", read_bytes_per_s / link * 100) +
                                       " of the link to the device (" + Gb(link) + ")"
                                 : "the link to the device is slower than the drives (" + Gb(link) + ")";
}

std::string AdamSentence(const IoProfile& profile, double one_way_bytes_per_s) {
  const auto found = profile.adam.find("fp32");
  if (found == profile.adam.end()) return "";
  const double drive_ns = kStateBytes / one_way_bytes_per_s * 1e9;
  return Print("a parameter's update takes %.3g ns on the drives and %.3g ns on the CPU: ", drive_ns, found->second) +
         (drive_ns > found->second ? "the drives bound it" : "the CPU bounds it");
}

ordered_json FinalistJson(const io::TuneResult& tuned, const io::Finalist& finalist) {
  const io::BenchPoint& point = tuned.candidates[finalist.candidate];
  std::vector<double> turns;
  for (const double rate : finalist.rates) turns.push_back(rate / 1e9);
  return {{"engine", io::Name(point.engine)},
          {"rw", io::Name(point.mix)},
          {"bs_bytes", point.block_bytes},
          {"iodepth", point.depth},
          {"numjobs", point.jobs},
          {"page_bytes", point.page_bytes},
          {"gb_per_s", finalist.Median() / 1e9},
          {"deviation", finalist.Spread() * finalist.Median() / 1e9},
          {"turns_gb_per_s", turns}};
}

std::string DirectoryLines(const io::TuneResult& tuned) {
  std::string text =
      "directories                          read GB/s  write GB/s   both at once      +-   all together\n";
  for (const io::DirectoryRates& rates : tuned.directories)
    text += Print("  %-34s %9.3f   %9.3f  %6.3f + %6.3f %5.1f %%  %6.3f + %6.3f\n", rates.path.c_str(),
                  rates.read_bytes_per_s / 1e9, rates.written_bytes_per_s / 1e9, rates.alone.read_bytes_per_s / 1e9,
                  rates.alone.written_bytes_per_s / 1e9, rates.spread * 100, rates.together.read_bytes_per_s / 1e9,
                  rates.together.written_bytes_per_s / 1e9);
  return text;
}

std::string FinalLines(const io::TuneResult& tuned) {
  std::string text = Print("the final, of %zu points            GB/s      +-\n", tuned.search.measured);
  for (size_t i = 0; i < tuned.search.finalists.size(); ++i) {
    const io::Finalist& finalist = tuned.search.finalists[i];
    text += Print("  %s%s  %.3f  %.1f %%\n", PointText(tuned.candidates[finalist.candidate]).c_str(),
                  i == tuned.search.reference ? " (default)" : "", finalist.Median() / 1e9, finalist.Spread() * 100);
  }
  return text;
}

std::string HostLines(const IoProfile& profile) {
  std::string text;
  if (profile.dram_bytes_per_s.has_value())
    text += "memory " + Gb(*profile.dram_bytes_per_s) + ", as Adam streams through it\n";
  for (const auto& [encoding, ns] : profile.adam) text += Print("Adam, %s: %.3g ns/param\n", encoding.c_str(), ns);
  for (const auto& [operation, rate] : profile.compute)
    text += Print("compute, %s: %.3g GFLOP/s\n", operation.c_str(), rate / 1e9);
  return text;
}

}  // namespace

IoProfile MakeProfile(const io::TuneResult& tuned, const HostRates& host) {
  IoProfile profile;
  profile.host = host.host;
  profile.device = "host";
  for (const io::DirectoryRates& rates : tuned.directories) {
    IoProfile::SwapDir entry;
    entry.path = rates.path;
    entry.engine = tuned.engine;
    entry.bs_bytes = tuned.point.block_bytes;
    entry.iodepth = tuned.point.depth;
    entry.numjobs = tuned.point.jobs;
    entry.read_bytes_per_s = Measured(rates.read_bytes_per_s);
    entry.write_bytes_per_s = Measured(rates.written_bytes_per_s);
    entry.mixed_read_bytes_per_s = Measured(rates.together.read_bytes_per_s);
    entry.mixed_write_bytes_per_s = Measured(rates.together.written_bytes_per_s);
    if (rates.block_latency_us > 0) entry.latency_us = rates.block_latency_us;
    profile.swap_dirs.push_back(std::move(entry));
  }
  if (host.dram_bytes_per_s.has_value()) profile.dram_bytes_per_s = std::round(*host.dram_bytes_per_s);
  profile.adam = host.adam;
  for (const auto& [operation, rate] : host.compute) profile.compute[operation] = std::round(rate);
  profile.cores = host.cores;
  profile.measured_at = host.measured_at;
  profile.spread = io::SpreadOf(tuned.swap);
  return profile;
}

std::string DeepSpeedAio(const io::BenchPoint& point) {
  const ordered_json aio{{"block_size", point.block_bytes},
                         {"queue_depth", point.depth},
                         {"intra_op_parallelism", point.jobs},
                         {"single_submit", false},
                         {"overlap_events", true}};
  return ordered_json{{"aio", aio}}.dump();
}

std::string ChoiceSentence(const io::TuneResult& tuned) {
  const auto& finalists = tuned.search.finalists;
  const io::Finalist &chosen = finalists.front(), &basis = finalists[tuned.search.reference];
  const std::string best = PointText(tuned.candidates[chosen.candidate]) + ": " + Gb(chosen.Median()) +
                           Print(" +- %.1f %%", chosen.Spread() * 100);
  if (!tuned.search.above_noise) return "best point: the default, " + best + "; no difference above noise";
  return "best point: " + best +
         Print("; %.0f %% above the default, in every one of %zu turns", (chosen.Median() / basis.Median() - 1) * 100,
               chosen.rates.size());
}

std::vector<std::string> Verdict(const io::TuneResult& tuned, const IoProfile& profile) {
  const double one_way = io::MedianOf(tuned.swap) / 2;
  std::vector<std::string> lines;
  const auto add = [&](const std::string& line) {
    if (!line.empty()) lines.push_back(line);
  };
  if (tuned.reached_drive_fraction >= 0 && tuned.reached_drive_fraction < 0.9)
    add(Print("only %.0f %% of the bytes reached a drive", tuned.reached_drive_fraction * 100) +
        ": the directory lies in memory, and takes from what it is meant to relieve");
  add(LimitSentence(tuned));
  add(LinkSentence(profile, one_way));
  if (one_way <= 0) return lines;
  add(AdamSentence(profile, one_way));
  add(Print("state on these drives is %.0f bytes a parameter, read and written once a step: %.3g s for each billion",
            kStateBytes, kStateBytes * 1e9 / one_way));
  const double by_time = kComfortableSeconds * one_way / kStateBytes;
  const double by_space = static_cast<double>(tuned.free_bytes) / (kStateBytes * kSlots);
  add("comfortable up to " + Parameters(std::min(by_time, by_space)) + ": " +
      (by_time <= by_space ? Print("moving all state takes %.0f s a step then", kComfortableSeconds)
                           : std::string("more does not fit the free space, two slots a page")));
  return lines;
}

std::string TuneText(const io::TuneResult& tuned, const IoProfile& profile) {
  std::string text = DirectoryLines(tuned) + FinalLines(tuned) + ChoiceSentence(tuned) + "\n" + HostLines(profile);
  for (const std::string& line : Verdict(tuned, profile)) text += line + "\n";
  return text + "for DeepSpeed: " + DeepSpeedAio(tuned.point) + "\n";
}

std::string TuneJson(const io::TuneResult& tuned, const IoProfile& profile) {
  ordered_json object;
  object["results"] = ordered_json::array();
  for (const io::Finalist& finalist : tuned.search.finalists)
    object["results"].push_back(FinalistJson(tuned, finalist));
  object["above_noise"] = tuned.search.above_noise;
  object["profile"] = ordered_json::parse(FormatIoProfile(profile));
  object["deepspeed"] = ordered_json::parse(DeepSpeedAio(tuned.point));
  object["verdict"] = Verdict(tuned, profile);
  object["not_measured"] = tuned.refused;
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace tidemill::tools
