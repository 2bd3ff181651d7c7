// `tidemill bench io`: how fast a directory's drive is, with fio's words.
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/byte_size.h"
#include "io/bench.h"
#include "tools/commands.h"
#include "tools/durations.h"
#include "train/signals.h"

namespace tidemill::tools {
namespace {

constexpr FlagSpec kFlags[] = {
    {"swap-dir", FlagKind::kPaths, "", "directories to measure, one after the other"},
    {"rw", FlagKind::kText, "read", "read, write, readwrite; several with commas"},
    {"bs", FlagKind::kText, "1MiB,4MiB", "block sizes, multiples of 4096"},
    {"iodepth", FlagKind::kText, "1,8,32", "blocks in flight, for each job"},
    {"numjobs", FlagKind::kText, "1", "threads, each with its own part of the file"},
    {"engine", FlagKind::kText, "auto", "auto, io_uring, libaio, posix; several with commas"},
    {"size", FlagKind::kSize, "4GiB",
     "bytes of the file DIR/tidemill-bench.bin: used if it is there, else made for the time"},
    {"runtime", FlagKind::kText, "5s", "time for each row"},
    {"direct", FlagKind::kBool, "true", "go past the page cache"},
    {"verify", FlagKind::kBool, "false", "fill the file with a pattern and check every byte that is moved"},
    {"json", FlagKind::kBool, "false", "print one JSON object"},
};

struct Options {
  std::vector<std::string> directories;
  std::vector<io::BenchPoint> points;  // every combination
  uint64_t size_bytes = 0;
  double runtime_seconds = 0;
  bool direct = true, verify = false, json = false;
};

struct Row {
  io::BenchPoint point;
  io::BenchRow result;
  std::string path;
};

std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (true) {
    const size_t comma = text.find(',', begin);
    parts.push_back(text.substr(begin, comma - begin));
    if (comma == std::string::npos) return parts;
    begin = comma + 1;
  }
}

Result<size_t> ParseCount(std::string_view flag, const std::string& text) {
  size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= 1 && value <= 65'536) return value;
  return Fail(ErrorCode::kInvalidArgument,
              "--" + std::string(flag) + " '" + text + "' is not a count: give whole numbers from 1 to 65536");
}

template <typename T, typename Parse>
Result<std::vector<T>> ParseEach(const std::string& text, const Parse& parse) {
  std::vector<T> values;
  for (const std::string& part : SplitAtCommas(text)) {
    TM_ASSIGN_OR_RETURN(const T value, parse(part));
    values.push_back(value);
  }
  return values;
}

Result<Options> ParseOptions(const Flags& flags) {
  Options options;
  options.directories = flags.Texts("swap-dir");
  if (options.directories.empty())
    return Fail(ErrorCode::kInvalidArgument, "bench io needs a directory to measure: pass --swap-dir DIR");
  options.size_bytes = flags.Bytes("size") / io::kAlignmentBytes * io::kAlignmentBytes;
  if (options.size_bytes == 0) return Fail(ErrorCode::kInvalidArgument, "--size is at least 4096 bytes");
  TM_ASSIGN_OR_RETURN(options.runtime_seconds, ParseSeconds("--runtime", flags.Text("runtime")));
  options.direct = flags.Bool("direct");
  options.verify = flags.Bool("verify");
  options.json = flags.Bool("json");

  TM_ASSIGN_OR_RETURN(const auto engines, ParseEach<io::EngineChoice>(flags.Text("engine"), io::ParseEngineChoice));
  TM_ASSIGN_OR_RETURN(const auto mixes, ParseEach<io::BenchMix>(flags.Text("rw"), io::ParseBenchMix));
  TM_ASSIGN_OR_RETURN(const auto sizes, ParseEach<uint64_t>(flags.Text("bs"), ParseByteSize));
  const auto count_of = [](std::string_view flag) {
    return [flag](const std::string& text) { return ParseCount(flag, text); };
  };
  TM_ASSIGN_OR_RETURN(const auto depths, ParseEach<size_t>(flags.Text("iodepth"), count_of("iodepth")));
  TM_ASSIGN_OR_RETURN(const auto jobs, ParseEach<size_t>(flags.Text("numjobs"), count_of("numjobs")));
  for (const auto engine : engines)
    for (const auto mix : mixes)
      for (const auto size : sizes)
        for (const auto depth : depths)
          for (const auto job_count : jobs) options.points.push_back({engine, mix, size, depth, job_count});
  for (const io::BenchPoint& point : options.points) TM_RETURN_IF_ERROR(io::CheckBenchPoint(options.size_bytes, point));
  return options;
}

void PrintHeader() {
  std::printf("%-9s %-9s %10s %7s %7s %8s %8s %10s %10s %10s %6s %s\n", "engine", "rw", "bs", "iodepth", "numjobs",
              "GB/s", "+-", "p50 us", "p99 us", "p99.9 us", "CPU %", "direct");
}

void PrintRow(const Row& row) {
  const io::BenchRow& r = row.result;
  std::printf("%-9s %-9s %10s %7zu %7zu %8.3f %8.3f %10.0f %10.0f %10.0f %6.0f %s\n", r.engine.c_str(),
              std::string(io::Name(row.point.mix)).c_str(), FormatBytes(row.point.block_bytes).c_str(), row.point.depth,
              row.point.jobs, r.gb_per_s, r.deviation_gb_per_s, r.p50_us, r.p99_us, r.p999_us, r.cpu_percent,
              r.direct ? "yes" : "NO");
  std::fflush(stdout);
}

nlohmann::json JsonOf(const Row& row) {
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
                      {"file", row.path}};
  json["drive_fraction"] = r.reached_drive_fraction < 0 ? nlohmann::json() : nlohmann::json(r.reached_drive_fraction);
  return json;
}

// Words to people, each once.
class Remarks {
 public:
  void Say(const std::string& line) {
    if (!line.empty() && said_.insert(line).second) std::fprintf(stderr, "tidemill: %s\n", line.c_str());
  }

  void About(const Row& row, double runtime_seconds) {
    for (const std::string& note : row.result.notes) Say(note);
    if (!row.result.direct) Say("measured through the page cache (" + row.path + "): this is not the drive's speed");
    const double fraction = row.result.reached_drive_fraction;
    if (row.result.direct && fraction >= 0 && fraction < 0.9)
      Say("only " + std::to_string(static_cast<int>(fraction * 100)) + " % of the bytes reached a drive (" + row.path +
          "): the file has holes, or lies in memory");
    const auto& slices = row.result.slices_gb_per_s;
    const size_t quarter = slices.size() / 4;
    double first = 0, last = 0;
    for (size_t i = 0; i < quarter; ++i) first += slices[i], last += slices[slices.size() - 1 - i];
    if (row.point.mix != io::BenchMix::kRead && runtime_seconds >= 10 && last < 0.8 * first) {
      char line[160];
      std::snprintf(line, sizeof line, "slowed from %.2f to %.2f GB/s within the run: a write cache filled up",
                    first / static_cast<double>(quarter), last / static_cast<double>(quarter));
      Say(line);
    }
  }

 private:
  std::set<std::string> said_;
};

Status Run(const Flags& flags) {
  TM_ASSIGN_OR_RETURN(const Options options, ParseOptions(flags));
  train::InstallSignalHandlers();
  const io::StopQuestion stop = [] { return train::StopRequested(); };
  Remarks remarks;
  nlohmann::json results = nlohmann::json::array();
  for (const std::string& directory : options.directories) {
    TM_ASSIGN_OR_RETURN(io::BenchFile file, io::BenchFile::Open(directory, options.size_bytes, options.direct, stop));
    remarks.Say(file.note());
    if (!options.json) {
      std::printf("%s, %s\n", file.path().c_str(), FormatBytes(file.size_bytes()).c_str());
      PrintHeader();
    }
    for (const io::BenchPoint& point : options.points) {
      TM_ASSIGN_OR_RETURN(io::BenchRow result,
                          io::RunBenchPoint(file, point, options.runtime_seconds, options.verify, stop));
      const Row row{point, std::move(result), file.path()};
      if (options.json) {
        results.push_back(JsonOf(row));
      } else {
        PrintRow(row);
      }
      remarks.About(row, options.runtime_seconds);
    }
  }
  if (options.json) std::printf("%s\n", nlohmann::json{{"results", results}}.dump().c_str());
  return Ok();
}

}  // namespace

const Command kBenchIo{"bench io",
                       "--swap-dir DIR... [flags]",
                       "How fast a swap directory's drive is.",
                       [] { return std::span<const FlagSpec>(kFlags); },
                       0,
                       Run};

}  // namespace tidemill::tools
