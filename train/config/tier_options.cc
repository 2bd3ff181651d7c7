#include "train/config/tier_options.h"

#include <filesystem>
#include <set>

#include "base/byte_size.h"
#include "io/transport.h"

namespace tidemill::train {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr int64_t kThreadsMax = 1024, kDepthMax = 1024;

tl::unexpected<Error> Refuse(std::string message) { return Fail(ErrorCode::kInvalidArgument, std::move(message)); }

// A flag whose value must be within [least, most] when it is given.
Result<std::optional<int64_t>> Whole(const FlagSet& flags, std::string_view name, int64_t least, int64_t most) {
  if (FindFlag(flags.table(), name) == nullptr) return std::optional<int64_t>();
  const auto value = flags.MaybeInteger(name);
  if (value.has_value() && (*value < least || *value > most))
    return Refuse("--" + std::string(name) + " is " + std::to_string(*value) + ": give auto, or " +
                  std::to_string(least) + " to " + std::to_string(most));
  return value;
}

Result<std::optional<uint64_t>> Size(const FlagSet& flags, std::string_view name) {
  if (FindFlag(flags.table(), name) == nullptr) return std::optional<uint64_t>();
  const auto bytes = flags.MaybeBytes(name);
  if (bytes.has_value() && *bytes < kPageBytes)
    return Refuse("--" + std::string(name) + " is " + std::to_string(*bytes) +
                  " bytes, less than one page of 4096: give auto or more");
  return bytes;
}

Result<PlaceFlag> Place(const FlagSet& flags, std::string_view name, bool has_nvme) {
  if (FindFlag(flags.table(), name) == nullptr) return PlaceFlag{};
  const std::string where = "--" + std::string(name);
  TM_ASSIGN_OR_RETURN(PlaceFlag place, ParsePlaceFlag(flags.Text(name), where));
  if (place.Names(swap_scheduler::Tier::kNvme) && !has_nvme)
    return Refuse(where + " names nvme, but there is no such tier: give --swap-dir");
  return place;
}

Status CheckSwap(const TierOptions& options) {
  if (options.swap_size.has_value() && options.swap_dirs.empty())
    return Refuse("--swap-size without a swap directory: give --swap-dir");
  if (options.swap_dirs.size() > io::Transport::kFilesMax)
    return Refuse("--swap-dir is given " + std::to_string(options.swap_dirs.size()) +
                  " times: " + std::to_string(io::Transport::kFilesMax) + " directories are the most");
  std::set<std::filesystem::path> seen;
  for (const std::string& dir : options.swap_dirs) {
    std::error_code ignored;
    auto whole = std::filesystem::weakly_canonical(std::filesystem::absolute(dir, ignored), ignored);
    if (!whole.has_filename()) whole = whole.parent_path();  // "swap/" is "swap"
    if (!seen.insert(whole).second) return Refuse("--swap-dir names '" + dir + "' twice: give each directory once");
  }
  return Ok();
}

// A directory without figures would be striped and planned by a guess.
Result<std::optional<IoProfile>> Profile(const FlagSet& flags, const std::vector<std::string>& swap_dirs) {
  const std::string path = flags.Text("io-profile");
  if (path.empty()) return std::optional<IoProfile>();
  TM_ASSIGN_OR_RETURN(IoProfile profile, ReadIoProfile(path));
  for (const std::string& dir : swap_dirs) {
    if (profile.Find(dir) != nullptr) continue;
    std::string known;
    for (const IoProfile::SwapDir& entry : profile.swap_dirs) known += (known.empty() ? "" : ", ") + entry.path;
    return Refuse("$.swap_dirs has no path '" + dir + "' (" + path + ": it has " + (known.empty() ? "none" : known) +
                  "): give --swap-dir as it was tuned, or run tidemill tune with it");
  }
  return std::optional(std::move(profile));
}

}  // namespace

Result<TierOptions> ParseTierOptions(const FlagSet& flags) {
  TierOptions options;
  TM_ASSIGN_OR_RETURN(options.device, gpu::ParseDeviceSpec(flags.Text("device")));
  TM_ASSIGN_OR_RETURN(options.threads, Whole(flags, "threads", 1, kThreadsMax));
  TM_ASSIGN_OR_RETURN(options.device_memory, Size(flags, "device-memory"));
  TM_ASSIGN_OR_RETURN(options.host_memory, Size(flags, "host-memory"));
  options.swap_dirs = flags.Texts("swap-dir");
  TM_ASSIGN_OR_RETURN(options.swap_size, Size(flags, "swap-size"));
  TM_RETURN_IF_ERROR(CheckSwap(options));
  if (flags.Text("swap-leftovers") == "reclaim") options.swap_leftovers = SwapLeftovers::kReclaim;
  options.io_engine = flags.Text("io-engine");
  TM_ASSIGN_OR_RETURN(options.io_profile, Profile(flags, options.swap_dirs));
  const bool has_nvme = !options.swap_dirs.empty();
  TM_ASSIGN_OR_RETURN(options.place_params, Place(flags, "place-params", has_nvme));
  TM_ASSIGN_OR_RETURN(options.place_optimizer, Place(flags, "place-optimizer", has_nvme));
  TM_ASSIGN_OR_RETURN(options.place_activations, Place(flags, "place-activations", has_nvme));
  TM_ASSIGN_OR_RETURN(options.place_gradients, Place(flags, "place-gradients", has_nvme));
  TM_ASSIGN_OR_RETURN(options.group_size, Whole(flags, "group-size", 1, int64_t{1} << 30));
  TM_ASSIGN_OR_RETURN(options.tile_size, Size(flags, "tile-size"));
  TM_ASSIGN_OR_RETURN(options.prefetch_depth, Whole(flags, "prefetch-depth", 0, kDepthMax));
  const uint64_t memory_bytes = options.device.memory_bytes;
  if (memory_bytes > 0 && options.device_memory.value_or(0) > memory_bytes)
    return Refuse("--device-memory is " + FormatBytes(*options.device_memory) + ", more than the device's " +
                  FormatBytes(memory_bytes) + " (--device): lower it, or raise mem= of --device");
  return options;
}

}  // namespace tidemill::train
