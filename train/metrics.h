// metrics.jsonl: one JSON object for each logged step, numbers unrounded (the shortest text that reads back the same).
//
//   Ownership   the writer owns its file.
//   Threads     one thread at a time.
//   Durability  every line is handed to the system before Append returns; a killed process loses none, a power cut may.
//   Errors      kNoSpace when the disk or a limit is full, kIo otherwise; both name the path.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tidemill::train {

// One step's figures, of that step alone. What is not there is null in the file.
struct StepMetrics {
  int64_t step = 0;  // from 1
  double epoch = 0;
  std::optional<double> loss, grad_norm;  // grad_norm before clipping
  double learning_rate = 0;               // the one this step used
  bool skipped = false;
  int64_t tokens = 0, supervised_tokens = 0;
  double step_seconds = 0;
  std::optional<double> predicted_step_seconds;
  std::optional<std::string> bound;                    // a lane, or "cores"
  std::array<std::optional<uint64_t>, 3> peak_bytes;   // device, host, nvme
  std::array<std::optional<uint64_t>, 4> moved_bytes;  // upload, download, nvme_read, nvme_write
  std::array<std::optional<double>, 6> busy_seconds;   // compute, upload, download, nvme_read, nvme_write, adam
};

// The line, without its end. A number that is not finite is null: JSON has none.
std::string FormatStep(const StepMetrics& metrics);

// {"step":N,"epoch":E,"eval_loss":...}: other figures of a step, such as an evaluation's.
std::string FormatFigures(int64_t step, double epoch, const std::vector<std::pair<std::string, double>>& figures);

// A text as a JSON string, quotes included; bytes that are not UTF-8 become U+FFFD.
std::string JsonString(const std::string& text);
// The shortest text that reads back as the same double; "null" if it is not finite.
std::string JsonNumber(double value);

class MetricsFile {
 public:
  // Starts the file anew, or goes on at its end if `resume`. A last line without its line end was torn by a kill or a
  // power cut, and is cut off first.
  static Result<MetricsFile> Open(std::string path, bool resume);
  ~MetricsFile();
  MetricsFile(MetricsFile&& other) noexcept;
  MetricsFile& operator=(MetricsFile&&) = delete;

  Status Append(const std::string& line);  // a line without its end

 private:
  MetricsFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_ = -1;
};

}  // namespace tidemill::train
