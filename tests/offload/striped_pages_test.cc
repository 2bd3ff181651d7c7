#include "offload/striped_pages.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "io/swap_file.h"
#include "tests/fakes/throttled_transport.h"
#include "tests/io/engine_fixture.h"

namespace tidemill::offload {
namespace {

constexpr io::EngineLimits kLimits{.depth = 8, .block_bytes = 128 * kKiB, .requests_max = 256};

StripeLayout LayoutOf(std::span<const SwapPage> pages, std::span<const double> weights) {
  std::vector<StripeFile> files;
  for (const double weight : weights) files.push_back({weight});
  return *MakeStripeLayout(StripePages(pages), files);
}

// Drives in memory with the given speeds, whose shares follow the same numbers. Each page written and read once.
struct Drives {
  Drives(const std::vector<SwapPage>& pages, const std::vector<double>& bytes_per_s) {
    const StripeLayout layout = LayoutOf(pages, bytes_per_s);
    const uint64_t largest = *std::max_element(layout.file_bytes.begin(), layout.file_bytes.end());
    auto engine = std::make_unique<io::Engine>(
        std::make_unique<fakes::ThrottledTransport>(std::make_unique<fakes::MemoryTransport>(kLimits.depth, largest),
                                                    bytes_per_s, record),
        kLimits);
    for (size_t i = 0; i < bytes_per_s.size(); ++i)
      engine->AddFile({.fd = -1, .path = "drive " + std::to_string(i), .capacity_bytes = layout.file_bytes[i]});
    StripedPages striped(pages, layout, std::move(engine));
    for (swap_scheduler::PageId page = 0; page < pages.size(); ++page) {
      const AlignedBuffer written = io::Buffer(pages[page].bytes, page + 1), read = io::Buffer(pages[page].bytes);
      EXPECT_TRUE(striped.Write(page, written.span()));
      EXPECT_TRUE(striped.Read(page, read.span()));
      EXPECT_TRUE(io::Same(written.span(), read.span()));
    }
  }
  double Share(size_t drive) const {
    uint64_t total = 0;
    for (const auto& bytes : record.bytes) total += bytes;
    return static_cast<double>(record.bytes[drive]) / static_cast<double>(total);
  }
  fakes::DriveRecord record;
};

// Seconds are the drives' own, counted from bytes: no clock of this machine is read.
TEST(StripedPages, OnePageUsesEveryDriveAtOnce) {
  const std::vector<SwapPage> pages(4, {"page", 8 * kMiB, true});
  const double one = Drives(pages, {100e6}).record.seconds;
  const Drives equal(pages, {100e6, 100e6});
  EXPECT_GE(one / equal.record.seconds, 1.8);
  EXPECT_NEAR(equal.Share(0), 0.5, 0.025);
  const Drives unequal(pages, {100e6, 300e6});
  EXPECT_GE(one / unequal.record.seconds, 0.9 * 4);
  EXPECT_NEAR(unequal.Share(0), 0.25, 0.0125);
  EXPECT_NEAR(unequal.Share(1), 0.75, 0.0375);
}

class StripedEngines : public testing::TestWithParam<std::string> {
 protected:
  const std::vector<SwapPage> pages_{{"large", 3 * kMiB + 4096, true}, {"none", 0, false}, {"small", 8192, false}};
};

// Writes three versions of each page and reads the last; returns what the files then hold.
void RunOn(const std::string& engine_name, const std::vector<SwapPage>& pages, std::vector<std::string>& contents) {
  const io::TestDirectory directory;
  const std::vector<double> weights{1, 3};
  const StripeLayout layout = LayoutOf(pages, weights);
  auto engine = io::MakeEngine(engine_name, kLimits);
  if (!engine) GTEST_SKIP() << engine.error().message;
  std::vector<io::SwapFile> files;
  for (size_t i = 0; i < weights.size(); ++i) {
    files.push_back(io::SwapFile::Create(directory.File(std::to_string(i)), layout.file_bytes[i]).value());
    (*engine)->AddFile(files.back().block_file());
  }
  StripedPages striped(pages, layout, std::move(*engine));
  for (uint32_t version = 1; version <= 3; ++version) {
    for (swap_scheduler::PageId page = 0; page < pages.size(); ++page) {
      if (pages[page].bytes == 0) continue;
      const AlignedBuffer written = io::Buffer(pages[page].bytes, 100 * version + page);
      const AlignedBuffer read = io::Buffer(pages[page].bytes);
      ASSERT_TRUE(striped.Write(page, written.span()));
      ASSERT_TRUE(striped.Read(page, read.span()));
      ASSERT_TRUE(io::Same(written.span(), read.span()));
    }
  }
  for (const io::SwapFile& file : files) {
    std::ifstream stream(file.path(), std::ios::binary);
    contents.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
}

TEST_P(StripedEngines, MoveTheSameBytesToTheSamePlaces) {
  std::vector<std::string> expected, found;
  ASSERT_NO_FATAL_FAILURE(RunOn("posix", pages_, expected));
  ASSERT_NO_FATAL_FAILURE(RunOn(GetParam(), pages_, found));
  if (IsSkipped()) return;
  ASSERT_EQ(found.size(), 2U);
  EXPECT_TRUE(found == expected);
}

INSTANTIATE_TEST_SUITE_P(Engines, StripedEngines,
                         testing::Values("io_uring", "libaio", "posix", "short", "interrupted"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace tidemill::offload
