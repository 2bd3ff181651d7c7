#include "train/placement_search.h"

#include <algorithm>
#include <array>

namespace tidemill::train {
namespace {

using swap_scheduler::Everything;
using swap_scheduler::Placement;
using swap_scheduler::Shares;
using swap_scheduler::Tier;

constexpr Shares HostAndNvme(double host) { return {0, host, 1 - host}; }

// How far the kinds have left the device: 0 none, 1 optimizer and gradients, 2 activations, 3 params.
Placement OffDevice(int level) {
  Placement placement;
  if (level >= 1) placement.optimizer = placement.gradients = Everything(Tier::kHost);
  if (level >= 2) placement.activations = Everything(Tier::kHost);
  if (level >= 3) placement.params = Everything(Tier::kHost);
  return placement;
}

// How far they have left host memory: 1-4 the optimizer in quarters, 5 gradients, 6 params, 7 activations.
void OffHost(int level, Placement& placement) {
  constexpr std::array kHostShare{1.0, 0.75, 0.5, 0.25, 0.0};
  placement.optimizer = HostAndNvme(kHostShare[static_cast<size_t>(std::min(level, 4))]);
  if (level >= 5) placement.gradients = Everything(Tier::kNvme);
  if (level >= 6) placement.params = Everything(Tier::kNvme);
  if (level >= 7) placement.activations = Everything(Tier::kNvme);
}

void Obey(const PlacementRequest& request, Placement& placement) {
  placement.params = request.params.value_or(placement.params);
  placement.optimizer = request.optimizer.value_or(placement.optimizer);
  placement.gradients = request.gradients.value_or(placement.gradients);
  placement.activations = request.activations.value_or(placement.activations);
}

bool Same(const Placement& a, const Placement& b) {
  return a.params == b.params && a.optimizer == b.optimizer && a.gradients == b.gradients &&
         a.activations == b.activations;
}

}  // namespace

std::vector<Placement> PlacementCandidates(const PlacementRequest& request, bool has_nvme) {
  constexpr std::array kLowestDeviceLevel{0, 1, 1, 1, 1, 1, 3, 3};  // from which each step off host memory makes sense
  std::vector<Placement> candidates;
  for (int host_level = 0; host_level <= (has_nvme ? 7 : 0); ++host_level) {
    const int lowest = kLowestDeviceLevel[static_cast<size_t>(host_level)];
    for (int device_level = request.optimizer_off_device ? std::max(lowest, 1) : lowest; device_level <= 3;
         ++device_level) {
      Placement placement = OffDevice(device_level);
      if (host_level > 0) OffHost(host_level, placement);
      Obey(request, placement);
      const bool known = std::any_of(candidates.begin(), candidates.end(),
                                     [&](const Placement& other) { return Same(placement, other); });
      if (!known) candidates.push_back(placement);
    }
  }
  return candidates;
}

}  // namespace tidemill::train
