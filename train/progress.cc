#include "train/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace tidemill::train {
namespace {

constexpr size_t kBarCells = 20;
constexpr const char *kDim = "\033[2m", *kPlain = "\033[0m", *kEraseLine = "\r\033[K";

template <typename... Args>
std::string Format(const char* format, Args... args) {
  char text[96];
  std::snprintf(text, sizeof text, format, args...);
  return text;
}

}  // namespace

ProgressStyle ProgressStyle::Detect() {
  ProgressStyle style;
  const char* term = std::getenv("TERM");
  style.terminal = isatty(STDERR_FILENO) == 1 && term != nullptr && std::string(term) != "dumb";
  const char* no_color = std::getenv("NO_COLOR");
  style.color = style.terminal && (no_color == nullptr || *no_color == '\0');
  winsize window{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0) style.columns = window.ws_col;
  return style;
}

std::string FormatDuration(double seconds) {
  const auto whole = static_cast<long long>(std::clamp(seconds, 0.0, 1e12) + 0.5);
  const long long minutes = whole / 60, hours = minutes / 60, days = hours / 24;
  if (days > 0) return Format("%lld d %lld h", days, hours % 24);
  if (hours > 0) return Format("%lld:%02lld:%02lld", hours, minutes % 60, whole % 60);
  return Format("%lld:%02lld", minutes, whole % 60);
}

Progress::Progress(std::FILE* out, ProgressStyle style, int64_t total)
    : out_(out), style_(style), total_(std::max<int64_t>(1, total)) {}

Progress::~Progress() {
  if (drawn_) std::fputc('\n', out_);
}

void Progress::Erase() {
  if (drawn_) std::fputs(kEraseLine, out_);
  drawn_ = false;
}

std::string Progress::Line(int64_t step, const std::string& figures) const {
  const double left = mean_seconds_ * static_cast<double>(std::max<int64_t>(0, total_ - step));
  return "step " + std::to_string(step) + "/" + std::to_string(total_) + "  " + figures + "  " + FormatDuration(left) +
         " left";
}

void Progress::Step(int64_t step, double step_seconds, const std::string& figures, bool logged) {
  ++measured_;
  // Early steps count alike; later the mean follows what the run has become.
  const double weight = std::max(0.05, 1.0 / static_cast<double>(measured_));
  mean_seconds_ += weight * (step_seconds - mean_seconds_);
  if (!style_.terminal) {
    if (logged) std::fprintf(out_, "%s\n", Line(step, figures).c_str());
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (drawn_ && step < total_ && now - redrawn_ < std::chrono::milliseconds(100)) return;
  redrawn_ = now;
  const auto filled = static_cast<size_t>(kBarCells * std::min(step, total_) / total_);
  std::string line = "[" + std::string(filled, '=') + std::string(kBarCells - filled, ' ') + "] " + Line(step, figures);
  if (line.size() >= style_.columns) line.resize(style_.columns - 1);  // a wrapped line could not be redrawn
  if (style_.color) line = kDim + line.substr(0, kBarCells + 2) + kPlain + line.substr(kBarCells + 2);
  std::fprintf(out_, "%s%s", kEraseLine, line.c_str());
  std::fflush(out_);
  drawn_ = true;
}

void Progress::Note(const std::string& text) {
  Erase();
  std::fprintf(out_, "%s\n", text.c_str());
  std::fflush(out_);
}

}  // namespace tidemill::train
