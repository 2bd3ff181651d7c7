#include "tools/bench_io_report.h"

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/byte_size.h"

namespace tidemill::tools {
namespace {

constexpr double kLongSeconds = 10;   // from here on a run shows how it went on
constexpr double kSlowedBelow = 0.8;  // of the first quarter's rate
constexpr double kDriveFractionLeast = 0.9;

std::string Joined(const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string& path : paths) text += (text.empty() ? "" : ",") + path;
  return text;
}

std::string Rate(double gb_per_s) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", gb_per_s);
  return text.data();
}

nlohmann::json JsonOf(const BenchIoRow& row) {
  const io::BenchRow& r = row.result;
  nlohmann::json json{{"engine", r.engine},
                      {"rw", io::Name(row.point.mix)},
                      {"bs_bytes", row.point.block_bytes},
                      {"iodepth", row.point.depth},
                      {"numjobs", row.point.jobs},
                      {"gb_per_s", r.gb_per_s},
                      {"deviation", r.deviation_gb_per_s},
                      {"read_bytes_per_s", r.read_bytes_per_s},
                      {"write_bytes_per_s", r.written_bytes_per_s},
                      {"slices_gb_per_s", r.slices_gb_per_s},
                      {"latency_us", {{"mean", r.mean_us}, {"p50", r.p50_us}, {"p99", r.p99_us}, {"p999", r.p999_us}}},
                      {"cpu_percent", r.cpu_percent},
                      {"direct", r.direct},
                      {"bytes_moved", r.moved_bytes},
                      {"pattern", "incompressible, made from the offset"},
                      {"directories", row.paths.size()},
                      {"file", Joined(row.paths)}};
  json["drive_fraction"] = r.reached_drive_fraction < 0 ? nlohmann::json() : nlohmann::json(r.reached_drive_fraction);
  return json;
}

}  // namespace

std::string BenchIoHeader() {
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(), "%-9s %-9s %10s %7s %7s %8s %8s %10s %10s %10s %6s %s\n", "engine", "rw",
                "bs", "iodepth", "numjobs", "GB/s", "+-", "p50 us", "p99 us", "p99.9 us", "CPU %", "direct");
  return text.data();
}

std::string BenchIoLine(const BenchIoRow& row) {
  const io::BenchRow& r = row.result;
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(), "%-9s %-9s %10s %7zu %7zu %8.3f %8.3f %10.0f %10.0f %10.0f %6.0f %s\n",
                r.engine.c_str(), std::string(io::Name(row.point.mix)).c_str(),
                FormatBytes(row.point.block_bytes).c_str(), row.point.depth, row.point.jobs, r.gb_per_s,
                r.deviation_gb_per_s, r.p50_us, r.p99_us, r.p999_us, r.cpu_percent, r.direct ? "yes" : "NO");
  std::string lines = text.data();
  if (row.runtime_seconds < kLongSeconds || r.slices_gb_per_s.empty()) return lines;
  lines += "  every " + Rate(row.runtime_seconds / static_cast<double>(r.slices_gb_per_s.size())) + " s:";
  for (const double rate : r.slices_gb_per_s) lines += " " + Rate(rate);
  return lines + " GB/s\n";
}

std::string BenchIoJson(std::span<const BenchIoRow> rows) {
  nlohmann::json results = nlohmann::json::array();
  for (const BenchIoRow& row : rows) results.push_back(JsonOf(row));
  return nlohmann::json{{"results", results}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<std::string> RemarksAbout(const BenchIoRow& row) {
  const io::BenchRow& r = row.result;
  const std::string where = Joined(row.paths);
  std::vector<std::string> lines = r.notes;
  if (!r.direct) lines.push_back("measured through the page cache (" + where + "): this is not the drive's speed");
  if (r.direct && r.reached_drive_fraction >= 0 && r.reached_drive_fraction < kDriveFractionLeast)
    lines.push_back("only " + std::to_string(static_cast<int>(r.reached_drive_fraction * 100)) +
                    " % of the bytes reached a drive (" + where + "): the file has holes, or lies in memory");
  const auto& slices = r.slices_gb_per_s;
  const size_t quarter = slices.size() / 4;
  double first = 0, last = 0;
  for (size_t i = 0; i < quarter; ++i) first += slices[i], last += slices[slices.size() - 1 - i];
  if (row.point.mix != io::BenchMix::kRead && row.runtime_seconds >= kLongSeconds && last < kSlowedBelow * first)
    lines.push_back("slowed from " + Rate(first / static_cast<double>(quarter)) + " to " +
                    Rate(last / static_cast<double>(quarter)) + " GB/s within the run: a write cache filled up");
  return lines;
}

void BenchIoRemarks::Say(const std::string& line) {
  if (!line.empty() && said_.insert(line).second) std::fprintf(stderr, "tidemill: %s\n", line.c_str());
}

void BenchIoRemarks::About(const BenchIoRow& row) {
  for (const std::string& line : RemarksAbout(row)) Say(line);
}

}  // namespace tidemill::tools
