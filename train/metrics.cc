#include "train/metrics.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "base/disk_full.h"

namespace tidemill::train {
namespace {

std::string JsonOf(double value) { return JsonNumber(value); }
std::string JsonOf(uint64_t value) { return std::to_string(value); }
std::string JsonOf(const std::string& value) { return JsonString(value); }
template <typename T>
std::string JsonOf(const std::optional<T>& value) {
  return value.has_value() ? JsonOf(*value) : "null";
}

// {"a":1,"b":null}: values under names, in the names' order.
template <typename T, size_t kCount>
std::string Named(const std::array<std::string_view, kCount>& names,
                  const std::array<std::optional<T>, kCount>& values) {
  std::string object = "{";
  for (size_t i = 0; i < kCount; ++i)
    object += (i == 0 ? "\"" : ",\"") + std::string(names[i]) + "\":" + JsonOf(values[i]);
  return object + "}";
}

tl::unexpected<Error> Failed(std::string_view what, const std::string& path, int error_number) {
  return Fail(MeansDiskFull(error_number) ? ErrorCode::kNoSpace : ErrorCode::kIo,
              std::string(what) + " (" + path + "): " + std::strerror(error_number));
}

// Where the last whole line ends.
Result<off_t> EndOfLastLine(int fd, const std::string& path) {
  off_t end = lseek(fd, 0, SEEK_END);
  std::array<char, 4096> tail;
  while (end > 0) {
    const off_t begin = std::max<off_t>(0, end - static_cast<off_t>(tail.size()));
    const ssize_t got = pread(fd, tail.data(), static_cast<size_t>(end - begin), begin);
    if (got <= 0) return Failed("cannot read the metrics", path, got < 0 ? errno : EIO);
    const size_t newline = std::string_view(tail.data(), static_cast<size_t>(got)).rfind('\n');
    if (newline != std::string_view::npos) return begin + static_cast<off_t>(newline) + 1;
    end = begin;
  }
  return off_t{0};
}

}  // namespace

std::string JsonNumber(double value) {
  if (!std::isfinite(value)) return "null";
  std::array<char, 32> text;
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end};
}

std::string JsonString(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string FormatStep(const StepMetrics& m) {
  const double tokens_per_second = m.step_seconds > 0 ? static_cast<double>(m.tokens) / m.step_seconds : 0;
  std::string line = "{\"step\":" + std::to_string(m.step) + ",\"epoch\":" + JsonNumber(m.epoch);
  line += ",\"loss\":" + JsonOf(m.loss) + ",\"grad_norm\":" + JsonOf(m.grad_norm);
  line += ",\"learning_rate\":" + JsonNumber(m.learning_rate) + ",\"skipped\":" + (m.skipped ? "true" : "false");
  line += ",\"tokens\":" + std::to_string(m.tokens) + ",\"supervised_tokens\":" + std::to_string(m.supervised_tokens);
  line += ",\"step_seconds\":" + JsonNumber(m.step_seconds) + ",\"tokens_per_second\":" + JsonNumber(tokens_per_second);
  line += ",\"predicted_step_seconds\":" + JsonOf(m.predicted_step_seconds) + ",\"bound\":" + JsonOf(m.bound);
  line += ",\"peak_bytes\":" + Named<uint64_t, 3>({"device", "host", "nvme"}, m.peak_bytes);
  line += ",\"moved_bytes\":" + Named<uint64_t, 4>({"upload", "download", "nvme_read", "nvme_write"}, m.moved_bytes);
  line += ",\"busy_seconds\":" +
          Named<double, 6>({"compute", "upload", "download", "nvme_read", "nvme_write", "adam"}, m.busy_seconds);
  return line + "}";
}

std::string FormatFigures(int64_t step, double epoch, const std::vector<std::pair<std::string, double>>& figures) {
  std::string line = "{\"step\":" + std::to_string(step) + ",\"epoch\":" + JsonNumber(epoch);
  for (const auto& [name, value] : figures) line += "," + JsonString(name) + ":" + JsonNumber(value);
  return line + "}";
}

Result<MetricsFile> MetricsFile::Open(std::string path, bool resume) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | (resume ? 0 : O_TRUNC), 0666);
  if (fd < 0) return Failed("cannot write the metrics", path, errno);
  MetricsFile file(std::move(path), fd);
  if (resume) {
    TM_ASSIGN_OR_RETURN(const off_t end, EndOfLastLine(fd, file.path_));
    if (ftruncate(fd, end) != 0) return Failed("cannot cut the torn last line", file.path_, errno);
  }
  return file;
}

MetricsFile::~MetricsFile() {
  if (fd_ >= 0) close(fd_);
}

MetricsFile::MetricsFile(MetricsFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

Status MetricsFile::Append(const std::string& line) {
  const std::string bytes = line + "\n";
  std::span<const char> left(bytes);
  while (!left.empty()) {
    const ssize_t written = write(fd_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Failed("cannot write the metrics", path_, written < 0 ? errno : ENOSPC);
    left = left.subspan(static_cast<size_t>(written));
  }
  return Ok();
}

}  // namespace tidemill::train
