#include "offload/stripe_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "base/byte_size.h"

namespace tidemill::offload {
namespace {

using Pages = std::vector<StripePage>;
using Files = std::vector<StripeFile>;

// Every page is covered once, in order; slots never overlap; nothing is beyond a file's end or its capacity.
void ExpectSound(const StripeLayout& layout, const Pages& pages, const Files& files) {
  ASSERT_EQ(layout.pages.size(), pages.size());
  std::vector<std::vector<std::pair<uint64_t, uint64_t>>> used(files.size());
  for (size_t p = 0; p < pages.size(); ++p) {
    uint64_t end = 0;
    std::vector<bool> seen(files.size());
    for (const StripeExtent& extent : layout.pages[p]) {
      ASSERT_FALSE(seen.at(extent.file)) << "one extent for each file";
      seen[extent.file] = true;
      EXPECT_EQ(extent.begin_bytes, end);
      EXPECT_GT(extent.bytes, 0U);
      EXPECT_EQ((extent.bytes | extent.slot_offset[0] | extent.slot_offset[1]) % 4096, 0U);
      for (uint32_t slot = 0; slot < pages[p].slots; ++slot)
        used[extent.file].push_back({extent.slot_offset[slot], extent.slot_offset[slot] + extent.bytes});
      end += extent.bytes;
    }
    EXPECT_EQ(end, AlignUp(pages[p].bytes, 4096));
  }
  for (size_t f = 0; f < files.size(); ++f) {
    std::sort(used[f].begin(), used[f].end());
    uint64_t end = 0;
    for (const auto& [begin, slot_end] : used[f]) {
      EXPECT_EQ(begin, end) << "a gap or an overlap in file " << f;
      end = slot_end;
    }
    EXPECT_EQ(layout.file_bytes[f], end);
    EXPECT_LE(end, files[f].capacity_bytes);
  }
}

double ShareOf(const StripeLayout& layout, size_t file) {
  const auto total = std::accumulate(layout.file_bytes.begin(), layout.file_bytes.end(), 0.0);
  return static_cast<double>(layout.file_bytes[file]) / total;
}

struct Case {
  const char* name;
  Pages pages;
  std::vector<double> weights;
  std::vector<double> shares;
  size_t extents_of_first_page;
};

TEST(StripeLayout, CutsPagesByTheWeightsOfTheFiles) {
  const std::vector<Case> cases{
      {"one file", Pages(10, {kMiB, 2}), {5}, {1}, 1},
      {"two equal files", Pages(10, {kMiB, 2}), {1, 1}, {0.5, 0.5}, 2},
      {"one to three", Pages(10, {4 * kMiB, 2}), {1, 3}, {0.25, 0.75}, 2},
      {"one to three, small pages", Pages(100, {64 * kKiB, 1}), {1, 3}, {0.25, 0.75}, 1},
      {"one to three, pages of two extents", Pages(100, {256 * kKiB, 2}), {1, 3}, {0.25, 0.75}, 1},
      {"one to three, odd sizes", Pages(100, {kMiB + 12288, 2}), {1, 3}, {0.25, 0.75}, 2},
      {"three to one", Pages(100, {kMiB, 1}), {3, 1}, {0.75, 0.25}, 2},
      {"a file of little worth", Pages(200, {kMiB, 2}), {1, 30}, {1.0 / 31, 30.0 / 31}, 1},
      {"five files", Pages(100, {3 * kMiB, 2}), {1, 2, 3, 4, 5}, {1 / 15., 2 / 15., 3 / 15., 4 / 15., 5 / 15.}, 5},
      {"a single large page", {{256 * kMiB, 1}}, {1, 3}, {0.25, 0.75}, 2},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Files files;
    for (const double weight : c.weights) files.push_back({weight});
    const auto layout = MakeStripeLayout(c.pages, files);
    ASSERT_TRUE(layout.has_value());
    ExpectSound(*layout, c.pages, files);
    EXPECT_EQ(layout->pages[0].size(), c.extents_of_first_page);
    for (size_t f = 0; f < files.size(); ++f) EXPECT_NEAR(ShareOf(*layout, f) / c.shares[f], 1, 0.05) << f;
  }
}

TEST(StripeLayout, CutsEveryLargePageNearlyByTheWeightsSoThatNoDriveWaits) {
  Pages pages(30, {8 * kMiB, 2});
  for (size_t i = 0; i < pages.size(); i += 3) pages[i].bytes = 40 * kKiB;  // and small ones between
  const Files files{{1}, {3}};
  const auto layout = MakeStripeLayout(pages, files);
  ASSERT_TRUE(layout.has_value());
  ExpectSound(*layout, pages, files);
  for (size_t p = 0; p < pages.size(); ++p) {
    if (pages[p].bytes < kMiB) continue;
    ASSERT_EQ(layout->pages[p].size(), 2U);
    EXPECT_NEAR(static_cast<double>(layout->pages[p][1].bytes) / static_cast<double>(6 * kMiB), 1, 0.05) << p;
  }
}

TEST(StripeLayout, APageTooSmallToCutGoesWholeToTheFileFurthestBehind) {
  const Pages pages(8, {kExtentBytesMin, 1});
  const auto layout = MakeStripeLayout(pages, Files{{1}, {3}});
  ASSERT_TRUE(layout.has_value());
  std::vector<uint32_t> order;
  for (const auto& extents : layout->pages) {
    ASSERT_EQ(extents.size(), 1U);
    order.push_back(extents[0].file);
  }
  EXPECT_EQ(std::count(order.begin(), order.end(), 0U), 2);
  EXPECT_EQ(std::count(order.begin(), order.begin() + 4, 0U), 1);  // never far behind
}

TEST(StripeLayout, NoExtentIsTooSmallToBeWorthARequest) {
  for (const size_t files : {2U, 3U, 4U, 8U, 64U}) {
    for (const uint64_t page_bytes : {256 * kKiB, 260 * kKiB, 384 * kKiB, 512 * kKiB, 1300 * kKiB, 9 * kMiB}) {
      const Pages pages(100, {page_bytes, 2});
      const auto layout = MakeStripeLayout(pages, Files(files, {1}));
      ASSERT_TRUE(layout.has_value());
      ExpectSound(*layout, pages, Files(files, {1}));
      for (const auto& extents : layout->pages) {
        for (const StripeExtent& extent : extents)
          EXPECT_GE(extent.bytes, kExtentBytesMin) << files << " " << page_bytes;
      }
    }
  }
}

TEST(StripeLayout, AFileWithLessRoomThanItsShareIsFilledAndTheOthersTakeTheRest) {
  const Pages pages(64, {kMiB, 2});  // 128 MiB in the files
  const Files files{{2, 10 * kMiB}, {1}, {1}};
  const auto layout = MakeStripeLayout(pages, files);
  ASSERT_TRUE(layout.has_value());
  ExpectSound(*layout, pages, files);
  EXPECT_GT(layout->file_bytes[0], 9 * kMiB);
  EXPECT_NEAR(static_cast<double>(layout->file_bytes[1]), 59.0 * kMiB, kMiB);
  EXPECT_NEAR(static_cast<double>(layout->file_bytes[2]), 59.0 * kMiB, kMiB);
}

TEST(StripeLayout, FilesThatHoldThePagesOnlyJustAreFilledToTheLastBlock) {
  const Pages pages(7, {kMiB, 1});
  const Files files{{1, 3 * kMiB + 4096}, {3, 4 * kMiB - 4096}};
  const auto layout = MakeStripeLayout(pages, files);
  ASSERT_TRUE(layout.has_value());
  ExpectSound(*layout, pages, files);
}

TEST(StripeLayout, SaysWhenThePagesDoNotFit) {
  EXPECT_FALSE(MakeStripeLayout(Pages(7, {kMiB, 1}), Files{{1, 3 * kMiB}, {3, 4 * kMiB - 4096}}));
  EXPECT_FALSE(MakeStripeLayout(Pages(1, {kMiB, 2}), Files{{1, kMiB}}));
}

TEST(StripeLayout, PagesOfNoBytesHaveNoExtents) {
  const auto layout = MakeStripeLayout(Pages{{0, 1}, {4096, 1}}, Files{{1}, {1}});
  ASSERT_TRUE(layout.has_value());
  EXPECT_TRUE(layout->pages[0].empty());
  EXPECT_EQ(layout->file_bytes[0] + layout->file_bytes[1], 4096U);
  EXPECT_TRUE(MakeStripeLayout(Pages{}, Files{{1}, {2}}).has_value());
}

TEST(StripeLayout, IsSoundForAnyPagesWeightsAndRoom) {
  std::mt19937_64 random(20261129);
  const auto below = [&](uint64_t bound) { return random() % bound; };
  for (int round = 0; round < 300; ++round) {
    Files files(1 + below(6));
    for (StripeFile& file : files) file.weight = 1 + static_cast<double>(below(40));
    Pages pages(below(60));
    for (StripePage& page : pages) page = {4096 * below(below(2) ? 2000 : 40), static_cast<uint32_t>(1 + below(2))};
    const uint64_t total = StripedBytes(pages);
    for (StripeFile& file : files) file.capacity_bytes = below(3) ? UINT64_MAX : total / 4096 * below(100) / 100 * 4096;
    const auto layout = MakeStripeLayout(pages, files);
    if (layout) ExpectSound(*layout, pages, files);
    const bool unlimited = std::any_of(files.begin(), files.end(),
                                       [](const StripeFile& file) { return file.capacity_bytes == UINT64_MAX; });
    EXPECT_TRUE(layout.has_value() || !unlimited) << round;
    if (testing::Test::HasFailure()) FAIL() << "round " << round;
  }
}

TEST(StripeLayout, WeighsADriveAsOneThatReadsAByteForEachItWrites) {
  EXPECT_DOUBLE_EQ(StripeWeight({2e9, 2e9}), 1e9);
  EXPECT_DOUBLE_EQ(StripeWeight({3e9, 1.5e9}), 1e9);
}

}  // namespace
}  // namespace tidemill::offload
