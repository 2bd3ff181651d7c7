// What a step may not do once the run is going: allocate, or wait for the device more often than it has to.
//
// Every operator new of this process is replaced and counted while a mark is set; the marks stand around a step, so
// that loading samples is outside them and every lane's thread is inside.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/fakes/counting_device.h"
#include "tests/train/golden_run.h"
#include "tests/train/session_run.h"

namespace {

std::atomic<bool> counting = false;
std::atomic<int64_t> allocations = 0;

void* Allocate(size_t bytes, size_t alignment) {
  if (counting.load()) ++allocations;
  const size_t rounded = (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

// The other forms call these.
void* operator new(size_t bytes) { return Allocate(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new(size_t bytes, std::align_val_t alignment) { return Allocate(bytes, static_cast<size_t>(alignment)); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace tidemill::train {
namespace {

using Flags = std::vector<std::pair<std::string, std::string>>;

struct Case {
  const char* name;
  const char* tier;
  Flags flags;
};

class EverySteadyRun : public testing::TestWithParam<Case> {
 protected:
  EverySteadyRun() : run_("qwen2_bias_tied_bf16") {}

  std::unique_ptr<SessionRun> Open(fakes::StreamWaits& waits) {
    Flags flags{{"swap-dir", run_.swap()}};
    for (const char* kind : {"params", "optimizer", "gradients", "activations"})
      flags.emplace_back(std::string("place-") + kind, GetParam().tier);
    flags.insert(flags.end(), GetParam().flags.begin(), GetParam().flags.end());
    const auto config = run_.Config(flags);
    EXPECT_TRUE(config.has_value()) << config.error().message;
    std::filesystem::create_directories(run_.output());
    auto opened = SessionRun::Open(*config, [&](std::unique_ptr<gpu::Device> device) {
      return std::make_unique<fakes::CountingDevice>(std::move(device), waits);
    });
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    return opened.has_value() ? std::move(*opened) : nullptr;
  }

  const GoldenRun run_;
};

TEST_P(EverySteadyRun, AllocatesNothingWithinAStep) {
  fakes::StreamWaits waits;
  const auto run = Open(waits);
  ASSERT_NE(run, nullptr);
  for (int64_t step = 0; step < 4; ++step) {
    const auto window = run->Load(step);
    ASSERT_TRUE(window.has_value());
    counting = step > 0;
    const auto outcome = run->Train(*window, step);
    counting = false;
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    ASSERT_TRUE(outcome->applied);
  }
  EXPECT_EQ(allocations.exchange(0), 0);
}

TEST_P(EverySteadyRun, WaitsForTheDeviceAtTheNormAndAtTheEndOfTheStepOnly) {
  fakes::StreamWaits waits;
  const auto run = Open(waits);
  ASSERT_NE(run, nullptr);
  const int64_t before = waits.of("compute");
  for (int64_t step = 0; step < 3; ++step) {
    const auto window = run->Load(step);
    ASSERT_TRUE(window.has_value());
    const auto outcome = run->Train(*window, step);
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    EXPECT_EQ(waits.of("compute") - before, 2 * (step + 1));
  }
}

TEST(CountingAllocator, CountsWhatIsAllocatedBetweenTheMarks) {
  counting = true;
  const auto text = std::make_unique<std::string>(100, 'x');
  counting = false;
  EXPECT_EQ(text->size(), 100U);
  EXPECT_EQ(allocations.exchange(0), 2);
}

INSTANTIATE_TEST_SUITE_P(
    , EverySteadyRun,
    testing::Values(Case{"OnTheDevice", "device", {}}, Case{"InHostMemory", "host", {}}, Case{"OnNvme", "nvme", {}},
                    Case{"OnNvmeInBf16", "nvme", {{"dtype", "bf16"}, {"tile-size", "16KiB"}}},
                    Case{"OnNvmeThroughPosix", "nvme", {{"io-engine", "posix"}}},
                    Case{"OnNvmeThroughLibaio", "nvme", {{"io-engine", "libaio"}}},
                    Case{"Throttled", "nvme", {{"device", "host:mem=64MiB,pcie=4GB/s,flops=1e12,nvme-read=4GB/s"}}}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace tidemill::train
