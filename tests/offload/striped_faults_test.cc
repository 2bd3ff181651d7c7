// Every fault at every position of a small run over two drives: the right bytes, or an error that names page, file and
// offset. What to do is drawn from a seed, which a failure prints.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>

#include "offload/striped_pages.h"
#include "tests/io/engine_fixture.h"

namespace tidemill::offload {
namespace {

using swap_scheduler::PageId;

constexpr uint32_t kSeed = 20261129;
constexpr io::EngineLimits kLimits{.depth = 4, .block_bytes = 128 * kKiB, .requests_max = 16};

// Of one run: what was moved until the first error, if there was one.
struct Outcome {
  size_t operations = 0;  // that the drives saw in a healthy run
  size_t failed_step = SIZE_MAX;
  bool failed_reading = false;
  PageId failed_page = 0;
  Error error{};
};

class StripedFaults : public testing::Test {
 protected:
  const std::vector<SwapPage> pages_{
      {"layers.0.param", 512 * kKiB, true}, {"norm.param", 8 * kKiB, true}, {"layers.0.grad", 524 * kKiB, false}};

  // Eighteen reads and writes of pages, each read compared with what was last written. After an error: the page that
  // failed while it was written still has its last version, if it keeps two.
  Outcome Run(const fakes::FaultPlan& plan) const {
    std::atomic<size_t> operations = 0;
    const std::vector<StripeFile> files{{1}, {1}};
    const StripeLayout layout = *MakeStripeLayout(StripePages(pages_), files);
    auto engine = std::make_unique<io::Engine>(
        std::make_unique<fakes::FaultyTransport>(
            std::make_unique<fakes::MemoryTransport>(kLimits.depth, layout.file_bytes[0] + layout.file_bytes[1]), plan,
            &operations),
        kLimits);
    for (const char* path : {"/first/swap", "/second/swap"})
      engine->AddFile({.fd = -1, .path = path, .capacity_bytes = layout.file_bytes[path[1] == 'f' ? 0 : 1]});
    StripedPages striped(pages_, layout, std::move(engine));

    std::mt19937 random(kSeed);
    std::vector<uint32_t> version(pages_.size());
    Outcome outcome;
    for (size_t step = 0; step < 18 && outcome.failed_step == SIZE_MAX; ++step) {
      const auto page = static_cast<PageId>(random() % pages_.size());
      const bool reading = random() % 2 == 0 && version[page] > 0;
      const uint32_t next = version[page] + (reading ? 0 : 1);
      const std::span<std::byte> expected = ContentOf(page, next);
      const AlignedBuffer read = io::Buffer(pages_[page].bytes);
      const Status status = reading ? striped.Read(page, read.span()) : striped.Write(page, expected);
      if (status) {
        EXPECT_TRUE(!reading || io::Same(read.span(), expected)) << "a wrong byte went through";
        version[page] = next;
        continue;
      }
      outcome.failed_step = step;
      outcome.failed_reading = reading;
      outcome.failed_page = page;
      outcome.error = status.error();
      if (!reading && pages_[page].persistent && version[page] > 0) {
        EXPECT_TRUE(striped.Read(page, read.span()));
        EXPECT_TRUE(io::Same(read.span(), ContentOf(page, version[page]))) << "the version before is lost";
      }
    }
    outcome.operations = operations;
    return outcome;
  }

  static void ExpectNamed(const Outcome& outcome, const std::vector<SwapPage>& pages) {
    const std::string& message = outcome.error.message;
    EXPECT_NE(message.find("page " + pages[outcome.failed_page].name), std::string::npos) << message;
    EXPECT_TRUE(message.find("/first/swap") != std::string::npos || message.find("/second/swap") != std::string::npos)
        << message;
    EXPECT_NE(message.find("offset "), std::string::npos) << message;
  }

  std::span<std::byte> ContentOf(PageId page, uint32_t version) const {
    AlignedBuffer& content = contents_[{page, version}];
    if (content.size() == 0) content = io::Buffer(pages_[page].bytes, 1 + 1000 * page + version);
    return content.span();
  }

  // Runs once for each operation of the healthy run; `plan_at` puts the fault there.
  template <typename PlanAt, typename Check>
  void AtEveryPosition(const PlanAt& plan_at, const Check& check) const {
    const Outcome healthy = Run({});
    ASSERT_EQ(healthy.failed_step, SIZE_MAX) << healthy.error.message;
    ASSERT_GT(healthy.operations, 40U);
    ASSERT_EQ(Run({}).operations, healthy.operations);
    for (size_t position = 0; position < healthy.operations; ++position) {
      SCOPED_TRACE("seed " + std::to_string(kSeed) + ", operation " + std::to_string(position));
      check(Run(plan_at(position)));
      if (HasFailure()) return;
    }
  }

 private:
  mutable std::map<std::pair<PageId, uint32_t>, AlignedBuffer> contents_;  // made once
};

TEST_F(StripedFaults, AnErrorOfTheDriveEndsTheTransferAndNamesItsPlace) {
  for (const auto& [number, code] : {std::pair(EIO, ErrorCode::kStorage), std::pair(ENOSPC, ErrorCode::kNoSpace)}) {
    AtEveryPosition([&](size_t at) { return fakes::FaultPlan{.fail_op = at, .error_number = number}; },
                    [&](const Outcome& outcome) {
                      ASSERT_NE(outcome.failed_step, SIZE_MAX);
                      EXPECT_EQ(outcome.error.code, code) << outcome.error.message;
                      ExpectNamed(outcome, pages_);
                    });
  }
}

TEST_F(StripedFaults, AnEndOfFileIsCorruptWhenReadAndAFaultWhenWritten) {
  AtEveryPosition([](size_t at) { return fakes::FaultPlan{.vanish_op = at}; },
                  [&](const Outcome& outcome) {
                    ASSERT_NE(outcome.failed_step, SIZE_MAX);
                    EXPECT_EQ(outcome.error.code, outcome.failed_reading ? ErrorCode::kCorrupt : ErrorCode::kStorage);
                    ExpectNamed(outcome, pages_);
                  });
}

TEST_F(StripedFaults, AnInterruptedTransferIsTriedAgain) {
  AtEveryPosition([](size_t at) { return fakes::FaultPlan{.fail_op = at, .error_number = EINTR}; },
                  [](const Outcome& outcome) { EXPECT_EQ(outcome.failed_step, SIZE_MAX) << outcome.error.message; });
}

TEST_F(StripedFaults, AShortTransferIsResumed) {
  AtEveryPosition([](size_t at) { return fakes::FaultPlan{.short_op = at}; },
                  [](const Outcome& outcome) { EXPECT_EQ(outcome.failed_step, SIZE_MAX) << outcome.error.message; });
}

TEST_F(StripedFaults, AWrongByteIsFoundBeforeItIsUsed) {
  size_t found = 0;
  AtEveryPosition([](size_t at) { return fakes::FaultPlan{.corrupt_op = at}; },
                  [&](const Outcome& outcome) {
                    if (outcome.failed_step == SIZE_MAX) return;  // written wrong, and written over before it was read
                    ++found;
                    EXPECT_TRUE(outcome.failed_reading);
                    EXPECT_EQ(outcome.error.code, ErrorCode::kCorrupt) << outcome.error.message;
                    ExpectNamed(outcome, pages_);
                  });
  EXPECT_GT(found, 15U);
}

}  // namespace
}  // namespace tidemill::offload
