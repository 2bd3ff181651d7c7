#include "train/tier_limits.h"

#include <algorithm>

namespace tidemill::train {
namespace {

uint64_t Share(double share, uint64_t bytes) { return static_cast<uint64_t>(share * static_cast<double>(bytes)); }

std::optional<swap_scheduler::Shares> SharesOf(const PlaceFlag& place) {
  if (place.automatic()) return std::nullopt;
  swap_scheduler::Shares shares{};
  for (const TierShare& part : place.shares) shares[static_cast<size_t>(part.tier)] += part.share;
  return shares;
}

}  // namespace

TierLimits ResolveLimits(const TierOptions& options, uint64_t available) {
  std::optional<uint64_t> device = options.device_memory;
  if (!device && options.device.memory_bytes > 0) device = options.device.memory_bytes;
  TierLimits limits;
  const std::optional<uint64_t> host = options.host_memory;
  const uint64_t beside_host = available - std::min(available, host.value_or(0));
  limits.device_bytes = device.value_or(host ? Share(0.85, beside_host) : Share(0.7, available));
  const uint64_t beside_device = available - std::min(available, limits.device_bytes);
  limits.host_bytes = host.value_or(device ? Share(0.85, beside_device) : Share(0.2, available));
  limits.has_nvme = !options.swap_dirs.empty();
  limits.nvme_bytes = options.swap_size.value_or(UINT64_MAX);
  return limits;
}

PlacementRequest RequestedPlacement(const TierOptions& options) {
  return {SharesOf(options.place_params), SharesOf(options.place_optimizer), SharesOf(options.place_gradients),
          SharesOf(options.place_activations), false};
}

}  // namespace tidemill::train
