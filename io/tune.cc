#include "io/tune.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <set>

#include "base/byte_size.h"

namespace tidemill::io {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kRepetitions = 5;
constexpr double kHalvingShare = 0.4, kFinalShare = 0.7;  // of the budget, from the start
constexpr uint64_t kBlockBytes = kMiB;                    // of the reference
constexpr size_t kDepth = 32;

std::vector<EngineChoice> AllowedEngines() {
  std::vector<EngineChoice> allowed;
  for (const EngineChoice choice : {EngineChoice::kIoUring, EngineChoice::kLibaio, EngineChoice::kPosix}) {
    if (OpenEngine({.choice = choice, .limits = {.depth = 1}})) allowed.push_back(choice);
  }
  return allowed;
}

// What a step feels: it reads as much as it writes, so the slower direction decides.
double Balanced(const BenchRow::Directions& rates) {
  return 2 * std::min(rates.read_bytes_per_s, rates.written_bytes_per_s);
}

BenchRow::Directions Whole(const BenchRow& row) { return {row.read_bytes_per_s, row.written_bytes_per_s}; }

double MedianBy(const std::vector<BenchRow>& rows, const std::function<double(const BenchRow&)>& value) {
  std::vector<double> values;
  for (const BenchRow& row : rows) values.push_back(value(row));
  return MedianOf(values);
}

std::string Describe(const BenchPoint& point, std::string_view engine) {
  return std::string(engine) + ", blocks of " + FormatBytes(point.block_bytes) + ", depth " +
         std::to_string(point.depth) + ", " + std::to_string(point.jobs) + (point.jobs == 1 ? " job" : " jobs");
}

class Tuner {
 public:
  explicit Tuner(const TuneRequest& request) : request_(request), start_(Clock::now()) {}

  Status OpenFiles();
  Status Search();
  Status MeasureRates();
  TuneResult Take() { return std::move(result_); }

 private:
  double Elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  void Say(const std::string& line) const {
    if (request_.say) request_.say(line);
  }
  Result<BenchRow> Run(std::span<BenchFile> files, const BenchPoint& point, double seconds);
  Status MeasureAlone(size_t index, double seconds);
  Status MeasureTogether(double seconds);
  void Summarize();

  const TuneRequest& request_;
  const Clock::time_point start_;
  std::vector<BenchFile> files_;
  TuneResult result_;
  // By directory, a row for each repetition.
  std::vector<std::vector<BenchRow>> reads_, writes_, swaps_;
  std::vector<BenchRow> together_;
  std::set<std::string> said_;
};

Status Tuner::OpenFiles() {
  std::set<std::string> seen;
  std::set<dev_t> drives;
  for (const std::string& directory : request_.directories) {
    std::error_code error;
    const std::string path = std::filesystem::canonical(directory, error);
    if (error)
      return Fail(ErrorCode::kInvalidArgument, "cannot use the swap directory (" + directory + ": " + error.message() +
                                                   "): make it, or name another");
    if (!seen.insert(path).second)
      return Fail(ErrorCode::kInvalidArgument, "--swap-dir names '" + directory + "' twice: give each directory once");
    struct stat info {};
    struct statvfs space {};
    if (::stat(path.c_str(), &info) == 0 && drives.insert(info.st_dev).second && ::statvfs(path.c_str(), &space) == 0)
      result_.free_bytes += static_cast<uint64_t>(space.f_bavail) * space.f_frsize;
    Say("writing " + FormatBytes(request_.file_bytes) + " to " + path);
    TM_ASSIGN_OR_RETURN(BenchFile file, BenchFile::Open(path, request_.file_bytes, true, request_.stop));
    if (!file.direct()) {
      Say(file.note() + "; not measured, since that would be the page cache's speed");
      result_.refused.push_back(path);
      continue;
    }
    files_.push_back(std::move(file));
    result_.directories.push_back({.path = path});
  }
  if (!files_.empty()) return Ok();
  return Fail(ErrorCode::kUnavailable, "O_DIRECT is refused in every directory (" + result_.refused.front() +
                                           "): what could be measured is the page cache; name a directory on ext4, "
                                           "xfs or btrfs");
}

Result<BenchRow> Tuner::Run(std::span<BenchFile> files, const BenchPoint& point, double seconds) {
  TM_ASSIGN_OR_RETURN(BenchRow row, RunBenchPoint(files, point, seconds, false, request_.stop));
  for (const std::string& note : row.notes) {
    if (said_.insert(note).second) Say(note);
  }
  if (row.reached_drive_fraction >= 0)
    result_.reached_drive_fraction = result_.reached_drive_fraction < 0
                                         ? row.reached_drive_fraction
                                         : std::min(result_.reached_drive_fraction, row.reached_drive_fraction);
  return row;
}

Status Tuner::Search() {
  result_.candidates = TuneCandidates(AllowedEngines(), request_.quick);
  for (const BenchPoint& point : result_.candidates)
    TM_RETURN_IF_ERROR(CheckBenchPoint(request_.file_bytes, point, files_.size()));
  const double budget = request_.budget_seconds;
  const auto count = static_cast<double>(result_.candidates.size());
  // Five rounds of halving take about as long each; so do seven turns of five.
  const SearchPlan plan{.first_seconds = std::clamp(kHalvingShare * budget / count / 5, 0.05, 1.0),
                        .final_seconds = std::clamp((kFinalShare - kHalvingShare) * budget / 35, 0.1, 5.0)};
  const SearchClock clock{[&] { return Elapsed() > kHalvingShare * budget; },
                          [&] { return Elapsed() > kFinalShare * budget; }};
  Say("comparing " + std::to_string(result_.candidates.size()) + " points, reading and writing pages at once");
  const auto measure = [&](size_t candidate, double seconds) -> Result<double> {
    TM_ASSIGN_OR_RETURN(const BenchRow row, Run(files_, result_.candidates[candidate], seconds));
    return Balanced(Whole(row));
  };
  TM_ASSIGN_OR_RETURN(result_.search, FindFastest(result_.candidates.size(), 0, plan, clock, measure));
  result_.point = result_.candidates[result_.search.finalists[0].candidate];
  return Ok();
}

Status Tuner::MeasureAlone(size_t index, double seconds) {
  const std::span<BenchFile> file(&files_[index], 1);
  for (const auto& [mix, rows] : {std::pair{BenchMix::kRead, &reads_[index]},
                                  {BenchMix::kWrite, &writes_[index]},
                                  {BenchMix::kSwap, &swaps_[index]}}) {
    BenchPoint point = result_.point;
    point.mix = mix;
    TM_ASSIGN_OR_RETURN(BenchRow row, Run(file, point, seconds));
    rows->push_back(std::move(row));
  }
  return Ok();
}

Status Tuner::MeasureTogether(double seconds) {
  if (files_.size() > 1) {
    TM_ASSIGN_OR_RETURN(BenchRow row, Run(files_, result_.point, seconds));
    together_.push_back(std::move(row));
  } else {
    together_.push_back(swaps_[0].back());
  }
  result_.swap.push_back(Balanced(Whole(together_.back())));
  // More blocks in flight than one page each way can be: does the drive have more to give?
  BenchPoint deep = result_.point;
  deep.mix = BenchMix::kReadWrite;
  deep.depth = std::max<size_t>(2 * deep.page_bytes / deep.block_bytes * 2, 64);
  while (deep.depth > 8 && !CheckBenchPoint(request_.file_bytes, deep, files_.size())) deep.depth /= 2;
  TM_ASSIGN_OR_RETURN(const BenchRow row, Run(files_, deep, seconds));
  result_.saturated.push_back(row.read_bytes_per_s + row.written_bytes_per_s);
  return Ok();
}

// Every kind of measurement once in each repetition, so that a drift of the machine touches all alike.
Status Tuner::MeasureRates() {
  const size_t count = files_.size();
  reads_.resize(count), writes_.resize(count), swaps_.resize(count);
  Say("measuring at the chosen point: " + std::to_string(count) + (count == 1 ? " directory" : " directories") +
      (count > 1 ? ", alone and together" : ""));
  const auto kinds = static_cast<double>(3 * count + 2);
  const double left = std::max(request_.budget_seconds - Elapsed(), 0.0);
  const double seconds = std::clamp(left / kinds / kRepetitions, 0.1, 5.0);
  for (size_t repetition = 0; repetition < kRepetitions; ++repetition) {
    if (repetition >= SearchPlan::kFewestTurns && Elapsed() > request_.budget_seconds) break;
    for (size_t i = 0; i < count; ++i) TM_RETURN_IF_ERROR(MeasureAlone(i, seconds));
    TM_RETURN_IF_ERROR(MeasureTogether(seconds));
  }
  Summarize();
  return Ok();
}

void Tuner::Summarize() {
  result_.engine = together_.front().engine;
  for (size_t i = 0; i < files_.size(); ++i) {
    DirectoryRates& rates = result_.directories[i];
    rates.read_bytes_per_s = MedianBy(reads_[i], [](const BenchRow& row) { return row.read_bytes_per_s; });
    rates.written_bytes_per_s = MedianBy(writes_[i], [](const BenchRow& row) { return row.written_bytes_per_s; });
    rates.block_latency_us = MedianBy(reads_[i], [](const BenchRow& row) { return row.mean_us; });
    rates.alone.read_bytes_per_s = MedianBy(swaps_[i], [](const BenchRow& row) { return row.read_bytes_per_s; });
    rates.alone.written_bytes_per_s = MedianBy(swaps_[i], [](const BenchRow& row) { return row.written_bytes_per_s; });
    rates.together.read_bytes_per_s =
        MedianBy(together_, [&](const BenchRow& row) { return row.files[i].read_bytes_per_s; });
    rates.together.written_bytes_per_s =
        MedianBy(together_, [&](const BenchRow& row) { return row.files[i].written_bytes_per_s; });
    std::vector<double> balanced;
    for (const BenchRow& row : swaps_[i]) balanced.push_back(Balanced(Whole(row)));
    rates.spread = SpreadOf(balanced);
  }
  Say("chosen: " + Describe(result_.point, result_.engine));
}

}  // namespace

std::vector<BenchPoint> TuneCandidates(const std::vector<EngineChoice>& engines, bool quick) {
  const std::vector<uint64_t> blocks =
      quick ? std::vector<uint64_t>{256 * kKiB, kMiB, 4 * kMiB}
            : std::vector<uint64_t>{128 * kKiB, 256 * kKiB, 512 * kKiB, kMiB, 2 * kMiB, 4 * kMiB};
  const std::vector<size_t> depths = quick ? std::vector<size_t>{8, kDepth} : std::vector<size_t>{4, 8, 16, kDepth, 64};
  const std::vector<size_t> jobs = quick ? std::vector<size_t>{1, 2} : std::vector<size_t>{1, 2, 4};
  std::vector<BenchPoint> points;
  for (const EngineChoice engine : engines)
    for (const uint64_t block : blocks)
      for (const size_t depth : depths)
        for (const size_t job_count : jobs) points.push_back({engine, BenchMix::kSwap, block, depth, job_count});
  const auto reference = std::find_if(points.begin(), points.end(), [&](const BenchPoint& point) {
    return point.engine == engines[0] && point.block_bytes == kBlockBytes && point.depth == kDepth && point.jobs == 1;
  });
  std::rotate(points.begin(), reference, reference + 1);
  return points;
}

Result<TuneResult> TuneDirectories(const TuneRequest& request) {
  Tuner tuner(request);
  TM_RETURN_IF_ERROR(tuner.OpenFiles());
  TM_RETURN_IF_ERROR(tuner.Search());
  TM_RETURN_IF_ERROR(tuner.MeasureRates());
  return tuner.Take();
}

}  // namespace tidemill::io
