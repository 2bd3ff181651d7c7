#include "train/placement_search.h"

#include <gtest/gtest.h>

#include <numeric>

namespace tidemill::train {
namespace {

using swap_scheduler::Everything;
using swap_scheduler::Placement;
using swap_scheduler::Shares;
using swap_scheduler::Tier;

TEST(PlacementCandidates, GoFromAllOnTheDeviceToAllOnNvme) {
  const auto candidates = PlacementCandidates({}, true);
  EXPECT_EQ(candidates.front().optimizer, Everything(Tier::kDevice));
  for (const Shares& shares : {candidates.back().params, candidates.back().optimizer, candidates.back().gradients,
                               candidates.back().activations})
    EXPECT_EQ(shares, Everything(Tier::kNvme));
}

TEST(PlacementCandidates, SharesAddUpToOne) {
  for (const Placement& placement : PlacementCandidates({}, true)) {
    for (const Shares& shares : {placement.params, placement.optimizer, placement.gradients, placement.activations})
      EXPECT_DOUBLE_EQ(std::accumulate(shares.begin(), shares.end(), 0.0), 1.0);
  }
}

TEST(PlacementCandidates, ObeyWhatWasPinnedAndStayOffNvmeWithoutOne) {
  PlacementRequest pinned;
  pinned.params = Everything(Tier::kHost);
  for (const Placement& placement : PlacementCandidates(pinned, false)) {
    EXPECT_EQ(placement.params, Everything(Tier::kHost));
    EXPECT_EQ(placement.optimizer[2] + placement.gradients[2] + placement.activations[2], 0);
  }
}

TEST(PlacementCandidates, KeepTheOptimizerOffADeviceThatCannotStepItsState) {
  PlacementRequest request;
  request.optimizer_off_device = true;
  const auto candidates = PlacementCandidates(request, true);
  EXPECT_EQ(candidates.front().params, Everything(Tier::kDevice));
  for (const Placement& placement : candidates) EXPECT_EQ(placement.optimizer[0], 0);
}

}  // namespace
}  // namespace tidemill::train
