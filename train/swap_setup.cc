#include "train/swap_setup.h"

#include <algorithm>

namespace tidemill::train {
namespace {

constexpr uint64_t kDepthMost = 1024;

Result<io::EngineChoice> ProfileEngine(const std::string& name, std::vector<std::string>& notes) {
  TM_ASSIGN_OR_RETURN(const io::EngineChoice choice, io::ParseEngineChoice(name));
  const auto opened = io::OpenEngine({.choice = choice, .limits = {.depth = 1}});
  if (opened.has_value()) return choice;
  notes.push_back("the profile's engine: " + opened.error().message + "; run tidemill tune again");
  return io::EngineChoice::kAuto;
}

// Of the first directory: tune gives all the same.
Status ApplyPoint(const IoProfile::SwapDir& entry, size_t directories, bool engine_is_named,
                  offload::SwapConfig& config, std::vector<std::string>& notes) {
  if (!engine_is_named && entry.engine.has_value()) {
    TM_ASSIGN_OR_RETURN(config.engine, ProfileEngine(*entry.engine, notes));
  }
  config.block_bytes = entry.bs_bytes.value_or(config.block_bytes);
  if (entry.iodepth.has_value())
    config.depth = std::min<uint64_t>(*entry.iodepth * entry.numjobs.value_or(1) * directories, kDepthMost);
  return Ok();
}

}  // namespace

Result<offload::SwapConfig> MakeSwapConfig(const TierOptions& tiers, const std::string& identity,
                                           std::vector<std::string>& notes) {
  offload::SwapConfig config;
  config.directories = tiers.swap_dirs;
  config.identity = identity;
  config.leftovers =
      tiers.swap_leftovers == SwapLeftovers::kReclaim ? io::LeftoverPolicy::kReclaim : io::LeftoverPolicy::kRefuse;
  config.read_bytes_per_s = tiers.device.nvme_read_bytes_per_s;
  config.write_bytes_per_s = tiers.device.nvme_write_bytes_per_s;
  TM_ASSIGN_OR_RETURN(config.engine, io::ParseEngineChoice(tiers.io_engine));
  if (!tiers.io_profile.has_value() || tiers.swap_dirs.empty()) return config;
  for (const std::string& directory : tiers.swap_dirs) {
    const IoProfile::SwapDir& entry = *tiers.io_profile->Find(directory);
    config.speeds.push_back({entry.read_bytes_per_s.value_or(0), entry.write_bytes_per_s.value_or(0)});
  }
  const bool named = config.engine != io::EngineChoice::kAuto;
  TM_RETURN_IF_ERROR(
      ApplyPoint(*tiers.io_profile->Find(tiers.swap_dirs[0]), tiers.swap_dirs.size(), named, config, notes));
  return config;
}

SwapRates ProfileSwapRates(const TierOptions& tiers) {
  if (!tiers.io_profile.has_value() || tiers.swap_dirs.empty()) return {};
  SwapRates rates{0, 0};
  const auto add = [](std::optional<double>& sum, const std::optional<double>& rate) {
    sum = sum.has_value() && rate.has_value() ? std::optional(*sum + *rate) : std::nullopt;
  };
  for (const std::string& directory : tiers.swap_dirs) {
    const IoProfile::SwapDir& entry = *tiers.io_profile->Find(directory);
    add(rates.read_bytes_per_s, entry.mixed_read_bytes_per_s);
    add(rates.write_bytes_per_s, entry.mixed_write_bytes_per_s);
  }
  return rates;
}

}  // namespace tidemill::train
