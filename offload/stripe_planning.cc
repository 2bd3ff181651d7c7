#include "offload/stripe_planning.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "base/byte_size.h"
#include "base/check.h"
#include "base/needed_bytes.h"
#include "io/file_ops.h"
#include "io/swap_file.h"

namespace tidemill::offload {
namespace {

// Less tells nothing, and more is not worth waiting for when the tier is small.
constexpr uint64_t kMeasuredBytesMin = 4 * kMiB;

uint64_t LessOrNone(uint64_t bytes, uint64_t taken) { return bytes - std::min(bytes, taken); }

// More than a commit record and its successor take (offload/commit_record.h).
uint64_t CommitBytes(size_t pages, size_t directories) {
  return 2 * AlignUp(4096 + pages * (128 + 64 * directories), io::kAlignmentBytes);
}

// What may be used of each directory. Directories on one file system have the same free bytes, and divide them. The
// file system keeps a 64th for its own records of the rest.
std::vector<uint64_t> Room(std::span<const io::SwapDirectory> directories, size_t pages) {
  const uint64_t kept = CommitBytes(pages, directories.size());
  std::vector<dev_t> devices;
  for (const io::SwapDirectory& directory : directories) {
    struct stat info {};
    devices.push_back(::stat(directory.path().c_str(), &info) == 0 ? info.st_dev : dev_t{0});
  }
  std::vector<uint64_t> room;
  for (size_t i = 0; i < directories.size(); ++i) {
    const auto free_bytes = io::FreeBytes(directories[i].path());
    const auto sharing = static_cast<uint64_t>(std::count(devices.begin(), devices.end(), devices[i]));
    room.push_back(free_bytes ? LessOrNone((*free_bytes - *free_bytes / 64) / sharing, kept) : UINT64_MAX);
  }
  return room;
}

tl::unexpected<Error> TooSmall(uint64_t need_bytes, std::span<const io::SwapDirectory> directories) {
  std::string where;
  for (const io::SwapDirectory& directory : directories) {
    const auto free_bytes = io::FreeBytes(directory.path());
    where += ", " + directory.path() + " has " + (free_bytes ? std::to_string(*free_bytes) : "unknown") + " bytes free";
  }
  return Fail(ErrorCode::kDoesNotFit, "the swap files do not fit (needed are " + std::to_string(need_bytes) +
                                          " bytes, " + FormatNeeded(need_bytes) +
                                          ", and a 64th of what is free and room for the commit record stay free" +
                                          where + "): free space there, or give another or a further --swap-dir");
}

// Nothing: too little room to tell.
Result<std::optional<io::StorageSpeed>> Measure(const io::SwapDirectory& directory, uint64_t bytes,
                                                io::EngineChoice engine) {
  if (bytes < kMiB) return std::optional<io::StorageSpeed>();
  TM_ASSIGN_OR_RETURN(const io::SwapFile file, io::SwapFile::Create(directory.FilePath(kSwapFileName), bytes));
  TM_ASSIGN_OR_RETURN(const io::StorageSpeed speed, io::MeasureSpeed(file.block_file(), engine));
  return std::optional(speed);
}

// Directories that are too full to be measured count as the slowest of the others.
Result<std::vector<io::StorageSpeed>> MeasureAll(std::span<const io::SwapDirectory> directories,
                                                 std::span<const uint64_t> room, uint64_t need_bytes,
                                                 io::EngineChoice engine) {
  const uint64_t most = std::min(io::kSpeedBytesMax, std::max(need_bytes, kMeasuredBytesMin));
  std::vector<std::optional<io::StorageSpeed>> measured(directories.size());
  std::optional<io::StorageSpeed> slowest;
  for (size_t i = 0; i < directories.size(); ++i) {
    TM_ASSIGN_OR_RETURN(measured[i], Measure(directories[i], std::min(most, room[i] / 2), engine));
    if (measured[i] && (!slowest || StripeWeight(*measured[i]) < StripeWeight(*slowest))) slowest = measured[i];
  }
  std::vector<io::StorageSpeed> speeds;
  for (const auto& speed : measured) speeds.push_back(speed.value_or(slowest.value_or(io::StorageSpeed{1, 1})));
  return speeds;
}

bool Known(std::span<const io::StorageSpeed> speeds) {
  return std::all_of(speeds.begin(), speeds.end(), [](const io::StorageSpeed& speed) {
    return speed.read_bytes_per_s > 0 && speed.write_bytes_per_s > 0;
  });
}

std::string DescribeShares(std::span<const io::SwapDirectory> directories, std::span<const io::StorageSpeed> speeds,
                           const StripeLayout& layout, bool measured) {
  double total = 0;
  for (const uint64_t bytes : layout.file_bytes) total += static_cast<double>(bytes);
  std::string text = "swap directories share the pages by " + std::string(measured ? "measured" : "the profile's") +
                     " speed and free space:";
  for (size_t i = 0; i < directories.size(); ++i) {
    char part[128];
    std::snprintf(part, sizeof part, " %.1f %% (reads %.2f GB/s, writes %.2f GB/s)",
                  100 * static_cast<double>(layout.file_bytes[i]) / std::max(total, 1.0),
                  speeds[i].read_bytes_per_s / 1e9, speeds[i].write_bytes_per_s / 1e9);
    text += (i == 0 ? " " : ", ") + directories[i].path() + part;
  }
  return text;
}

}  // namespace

Result<StripeLayout> PlanStripes(std::span<const StripePage> pages, std::span<const io::SwapDirectory> directories,
                                 std::span<const io::StorageSpeed> speeds, io::EngineChoice engine,
                                 std::vector<std::string>& notes) {
  TM_CHECK(speeds.empty() || speeds.size() == directories.size());
  const std::vector<uint64_t> room = Room(directories, pages.size());
  const uint64_t need_bytes = StripedBytes(pages);
  uint64_t room_together = 0;
  for (const uint64_t bytes : room) room_together += std::min(bytes, UINT64_MAX - room_together);
  if (room_together < need_bytes) return TooSmall(need_bytes, directories);
  const StripeFile everything;
  if (directories.size() == 1) return *MakeStripeLayout(pages, {&everything, 1});

  const bool known = !speeds.empty() && Known(speeds);
  std::vector<io::StorageSpeed> used(speeds.begin(), speeds.end());
  if (!known) {
    TM_ASSIGN_OR_RETURN(used, MeasureAll(directories, room, need_bytes, engine));
  }
  std::vector<StripeFile> files;
  for (size_t i = 0; i < directories.size(); ++i) files.push_back({StripeWeight(used[i]), room[i]});
  auto layout = MakeStripeLayout(pages, files);
  if (!layout) return TooSmall(need_bytes, directories);
  notes.push_back(DescribeShares(directories, used, *layout, !known));
  return std::move(*layout);
}

}  // namespace tidemill::offload
