#include "train/swap_preflight.h"

namespace tidemill::train {

std::vector<std::string> SwapWarnings(std::span<const io::DirectoryReport> reports) {
  std::vector<std::string> lines;
  for (const io::DirectoryReport& report : reports) {
    for (std::string& line : report.Warnings()) {
      // That O_DIRECT is refused is said of the swap file itself.
      if (line != report.direct_note) lines.push_back("warning: " + std::move(line));
    }
  }
  return lines;
}

Result<std::vector<std::string>> CheckSwapDirectories(std::span<const std::string> directories) {
  std::vector<io::DirectoryReport> reports;
  for (const std::string& directory : directories) {
    auto report = io::ProbeDirectory(directory);
    if (report.has_value()) {
      reports.push_back(std::move(*report));
    } else if (report.error().code != ErrorCode::kIo && report.error().code != ErrorCode::kNoSpace) {
      return tl::make_unexpected(std::move(report.error()));
    }
  }
  return SwapWarnings(reports);
}

}  // namespace tidemill::train
