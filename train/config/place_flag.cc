#include "train/config/place_flag.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "train/config/flag_value.h"

namespace tidemill::train {
namespace {

using swap_scheduler::Tier;

constexpr std::array<std::string_view, swap_scheduler::kTiers> kTierNames{"device", "host", "nvme"};

tl::unexpected<Error> Refuse(std::string_view text, std::string_view where, std::string_view problem) {
  return Fail(ErrorCode::kInvalidArgument, std::string(where) + " is '" + std::string(text) + "', but " +
                                               std::string(problem) +
                                               ": give auto, device, host, nvme, or shares such as host=0.4,nvme");
}

// The tier that is given without a share takes what the others leave.
Status GiveTheRest(std::string_view text, std::string_view where, std::vector<TierShare>* shares) {
  double sum = 0;
  TierShare* rest = nullptr;
  for (TierShare& share : *shares) {
    if (share.share == 0 && rest != nullptr) return Refuse(text, where, "two tiers have no share");
    if (share.share == 0) rest = &share;
    sum += share.share;
  }
  constexpr double kRounding = 1e-9;  // of three decimal shares such as 0.3,0.3,0.4
  if (rest == nullptr && std::abs(sum - 1) > kRounding) return Refuse(text, where, "its shares do not add up to 1");
  if (rest != nullptr && sum >= 1) return Refuse(text, where, "its shares leave nothing for the last tier");
  if (rest != nullptr) rest->share = 1 - sum;
  return Ok();
}

}  // namespace

bool PlaceFlag::Names(Tier tier) const {
  return std::any_of(shares.begin(), shares.end(), [&](const TierShare& share) { return share.tier == tier; });
}

Result<PlaceFlag> ParsePlaceFlag(std::string_view text, std::string_view where) {
  PlaceFlag place;
  if (text == "auto") return place;
  for (std::string_view left = text;;) {
    const size_t comma = left.find(',');
    const std::string_view part = left.substr(0, comma);
    const size_t equals = part.find('=');
    const auto* const name = std::find(kTierNames.begin(), kTierNames.end(), part.substr(0, equals));
    if (name == kTierNames.end()) return Refuse(text, where, "'" + std::string(part) + "' is not a tier");
    const auto tier = static_cast<Tier>(name - kTierNames.begin());
    if (place.Names(tier)) return Refuse(text, where, "it names " + std::string(*name) + " twice");
    double share = 0;
    if (equals != std::string_view::npos) {
      const auto number = ParseNumber(part.substr(equals + 1), where);
      if (!number.has_value() || *number <= 0 || *number > 1)
        return Refuse(text, where, "a share is not above 0 and at most 1");
      share = *number;
    }
    place.shares.push_back({tier, share});
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  TM_RETURN_IF_ERROR(GiveTheRest(text, where, &place.shares));
  return place;
}

std::string FormatPlaceFlag(const PlaceFlag& place) {
  if (place.automatic()) return "auto";
  std::string text;
  for (const TierShare& share : place.shares) {
    if (!text.empty()) text += ',';
    text += kTierNames[static_cast<size_t>(share.tier)];
    if (place.shares.size() == 1) break;
    char number[32];
    std::snprintf(number, sizeof number, "=%.6g", share.share);
    text += number;
  }
  return text;
}

}  // namespace tidemill::train
