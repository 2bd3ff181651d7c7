// `tidemill bench io`: how fast a directory's drive is, with fio's words.
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/byte_size.h"
#include "io/bench.h"
#include "tools/bench_io_report.h"
#include "tools/commands.h"
#include "tools/durations.h"
#include "train/signals.h"

namespace tidemill::tools {
namespace {

constexpr FlagSpec kFlags[] = {
    {"swap-dir", FlagKind::kPaths, "", "directories to measure: each alone, then all together"},
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
  for (const io::BenchPoint& point : options.points)
    TM_RETURN_IF_ERROR(io::CheckBenchPoint(options.size_bytes, point, options.directories.size()));
  return options;
}

// Each directory by itself, then all of them together.
struct Group {
  std::string title;  // above its table
  std::span<io::BenchFile> files;
};

std::vector<Group> GroupsOf(std::vector<io::BenchFile>& files) {
  std::vector<Group> groups;
  for (io::BenchFile& file : files)
    groups.push_back({file.path() + ", " + FormatBytes(file.size_bytes()), std::span(&file, 1)});
  if (files.size() > 1) groups.push_back({"all " + std::to_string(files.size()) + " directories together", files});
  return groups;
}

Result<std::vector<io::BenchFile>> OpenFiles(const Options& options, const io::StopQuestion& stop,
                                             BenchIoRemarks& remarks) {
  std::vector<io::BenchFile> files;
  std::set<std::filesystem::path> seen;
  for (const std::string& directory : options.directories) {
    std::error_code ignored;  // a directory that is not there is named when its file is made
    if (!seen.insert(std::filesystem::weakly_canonical(directory, ignored)).second)
      return Fail(ErrorCode::kInvalidArgument, "--swap-dir names '" + directory + "' twice: give each directory once");
    TM_ASSIGN_OR_RETURN(io::BenchFile file, io::BenchFile::Open(directory, options.size_bytes, options.direct, stop));
    remarks.Say(file.note());
    files.push_back(std::move(file));
  }
  return files;
}

Status Run(const Flags& flags) {
  TM_ASSIGN_OR_RETURN(const Options options, ParseOptions(flags));
  train::InstallSignalHandlers();
  const io::StopQuestion stop = [] { return train::StopRequested(); };
  BenchIoRemarks remarks;
  TM_ASSIGN_OR_RETURN(std::vector<io::BenchFile> files, OpenFiles(options, stop, remarks));
  std::vector<BenchIoRow> rows;
  for (const Group& group : GroupsOf(files)) {
    if (!options.json) std::printf("%s\n%s", group.title.c_str(), BenchIoHeader().c_str());
    for (const io::BenchPoint& point : options.points) {
      TM_ASSIGN_OR_RETURN(io::BenchRow result,
                          io::RunBenchPoint(group.files, point, options.runtime_seconds, options.verify, stop));
      BenchIoRow row{point, std::move(result), {}, options.runtime_seconds};
      for (const io::BenchFile& file : group.files) row.paths.push_back(file.path());
      if (!options.json) std::printf("%s", BenchIoLine(row).c_str());
      std::fflush(stdout);
      remarks.About(row);
      rows.push_back(std::move(row));
    }
  }
  if (options.json) std::printf("%s\n", BenchIoJson(rows).c_str());
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
