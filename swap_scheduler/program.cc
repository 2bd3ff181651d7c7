#include "swap_scheduler/program.h"

#include <array>

namespace tidemill::swap_scheduler {

std::string_view Name(Tier tier) {
  constexpr std::array<std::string_view, kTiers> kNames{"device", "host", "nvme"};
  return kNames[static_cast<size_t>(tier)];
}

std::string_view Name(Lane lane) {
  constexpr std::array<std::string_view, kLanes> kNames{"compute",  "adam",      "upload",
                                                        "download", "nvme_read", "nvme_write"};
  return kNames[static_cast<size_t>(lane)];
}

std::string_view Name(Kind kind) {
  constexpr std::array<std::string_view, kKinds> kNames{"param", "rest", "exp_avg",   "exp_avg_sq",
                                                        "fold",  "grad", "activation"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view Name(OperationKind kind) {
  constexpr std::array<std::string_view, kOperationKinds> kNames{
      "embedding forward",  "block forward",   "head forward", "head backward", "block backward",
      "embedding backward", "finish gradient", "norm",         "adam"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace tidemill::swap_scheduler
