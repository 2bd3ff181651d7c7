#include "gpu/kernels/embedding.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tidemill::gpu {
namespace {

constexpr int64_t kCols = 19;

std::vector<float> Random(size_t count) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> values(count);
  for (float& v : values) v = normal(random);
  return values;
}

TEST(EmbedForward, CopiesTheRowsOfItsSliceAndLeavesTheOthersAlone) {
  ThreadTeam team(2);
  const auto table = Random(4 * kCols);
  const Weights slice{.data = reinterpret_cast<const std::byte*>(table.data()), .rows = 4, .cols = kCols};
  const std::vector<int32_t> ids = {11, 9, 10, 13, 14, 10, 0};
  std::vector<float> x(ids.size() * kCols, -7);
  EmbedForward(team, slice, 10, ids.data(), x.data(), static_cast<int64_t>(ids.size()));
  for (size_t r = 0; r < ids.size(); ++r)
    for (size_t c = 0; c < kCols; ++c) {
      const bool inside = ids[r] >= 10 && ids[r] < 14;
      EXPECT_EQ(x[r * kCols + c], inside ? table[static_cast<size_t>(ids[r] - 10) * kCols + c] : -7);
    }
}

TEST(EmbedForward, WidensBf16) {
  ThreadTeam team(1);
  const auto table = Random(2 * kCols);
  std::vector<uint16_t> halves;
  for (const float v : table) halves.push_back(RoundToBf16Even(v));
  const Weights slice{
      .data = reinterpret_cast<const std::byte*>(halves.data()), .dtype = DType::kBf16, .rows = 2, .cols = kCols};
  const int32_t id = 1;
  std::vector<float> x(kCols);
  EmbedForward(team, slice, 0, &id, x.data(), 1);
  for (size_t c = 0; c < kCols; ++c) EXPECT_EQ(x[c], Bf16ToFloat(halves[kCols + c]));
}

class EmbedBackwardTest : public testing::Test {
 protected:
  std::vector<float> Table(size_t threads, bool accumulate) {
    ThreadTeam team(threads);
    std::vector<float> table(3 * kCols, 2);
    EmbedBackward(team, dx_.data(), ids_.data(), 10, 3, kCols, {table.data(), accumulate},
                  static_cast<int64_t>(ids_.size()));
    return table;
  }

  const std::vector<int32_t> ids_ = {12, 10, 9, 12, 13, 12};
  const std::vector<float> dx_ = Random(6 * kCols);
};

TEST_F(EmbedBackwardTest, AddsTheRowsOfAnIdInOrder) {
  const auto overwritten = Table(2, false), added = Table(2, true);
  for (size_t c = 0; c < kCols; ++c) {
    EXPECT_EQ(overwritten[c], dx_[kCols + c]);
    EXPECT_EQ(overwritten[kCols + c], 0);
    EXPECT_EQ(overwritten[2 * kCols + c], (dx_[c] + dx_[3 * kCols + c]) + dx_[5 * kCols + c]);
    EXPECT_EQ(added[c], 2 + dx_[kCols + c]);
    EXPECT_EQ(added[kCols + c], 2);
  }
}

TEST_F(EmbedBackwardTest, HasTheSameBitsOnAnyNumberOfThreads) {
  EXPECT_EQ(Table(1, false), Table(2, false));
  EXPECT_EQ(Table(1, true), Table(5, true));
}

TEST_F(EmbedBackwardTest, AFrozenTableIsNotTouched) {
  ThreadTeam team(1);
  EmbedBackward(team, dx_.data(), ids_.data(), 10, 3, kCols, {}, 6);
}

}  // namespace
}  // namespace tidemill::gpu
