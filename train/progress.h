// How a run looks to a person, on stderr: a bar with the time that is left on a terminal, plain lines otherwise.
//
//   Threads   one thread at a time.
//   Limits    on a terminal a line is redrawn at most ten times a second. Colours only on a terminal, and not with
//             NO_COLOR set.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace tidemill::train {

struct ProgressStyle {
  bool terminal = false, color = false;
  size_t columns = 80;

  // Of stderr and the environment.
  static ProgressStyle Detect();
};

// "2:03", "1:02:03", "3 d 4 h".
std::string FormatDuration(double seconds);

class Progress {
 public:
  // Of a run of `total` steps. Lines go to `out`, which stays the caller's.
  Progress(std::FILE* out, ProgressStyle style, int64_t total);
  ~Progress();  // leaves the cursor on a new line
  Progress(const Progress&) = delete;

  // A step ended: `figures` is what to say about it ("loss 2.31  lr 1e-04"). Off a terminal only what is `logged`
  // prints.
  void Step(int64_t step, double step_seconds, const std::string& figures, bool logged);

  // A line of its own: a checkpoint was written, an engine fell back.
  void Note(const std::string& text);

 private:
  std::string Line(int64_t step, const std::string& figures) const;
  void Erase();

  std::FILE* out_;
  ProgressStyle style_;
  int64_t total_;
  int64_t measured_ = 0;     // steps of this process
  double mean_seconds_ = 0;  // of a step, later ones weighing more
  bool drawn_ = false;       // a bar is on the cursor's line
  std::chrono::steady_clock::time_point redrawn_;
};

}  // namespace tidemill::train
