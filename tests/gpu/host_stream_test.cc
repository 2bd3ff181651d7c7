#include "gpu/host_stream.h"

#include <gtest/gtest.h>

#include <latch>
#include <numeric>
#include <vector>

#include "base/byte_size.h"
#include "gpu/host_device.h"
#include "gpu/kernels/isa.h"

namespace tidemill::gpu {
namespace {

constexpr size_t kBytes = 1 << 16;

class HostStreamTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    device_ = MakeHostDevice(ParseDeviceSpec(GetParam()).value(), 2).value();
    ASSERT_TRUE(device_->ReserveArena(4 * kMiB).has_value());
  }
  std::unique_ptr<Stream> NewStream(const char* name) { return device_->NewStream(name, {}); }

  std::unique_ptr<Device> device_;
};

TEST_P(HostStreamTest, CarriesBytesThereAndBackInOrder) {
  const auto stream = NewStream("copies");
  std::vector<std::byte> from(kBytes), to(kBytes);
  for (size_t i = 0; i < kBytes; ++i) from[i] = static_cast<std::byte>(i * 7);
  std::byte* const arena = device_->Arena();
  stream->FillZero(arena, 4 * kMiB);
  stream->CopyToDevice(arena, from);
  stream->CopyOnDevice(arena + 2 * kMiB, arena, 2 * kMiB);  // large enough for the team
  stream->FillZero(arena, kBytes);
  stream->CopyToHost(to, arena + 2 * kMiB);
  ASSERT_TRUE(stream->Synchronize().has_value());
  EXPECT_EQ(from, to);
  EXPECT_EQ(arena[0], std::byte{0});
}

// Every hand-over goes through an event; without one ThreadSanitizer, or the sum, would show the race.
TEST_P(HostStreamTest, AnEventOrdersTwoStreams) {
  const auto first = NewStream("first"), second = NewStream("second");
  const auto there = device_->NewEvent(), back = device_->NewEvent();
  auto* const shared = reinterpret_cast<uint64_t*>(device_->Arena());
  std::vector<uint64_t> round(kBytes / 8), seen(kBytes / 8);
  for (uint64_t i = 1; i <= 20; ++i) {
    first->Wait(*back);  // never recorded in the first round: returns at once
    back->Synchronize();
    std::fill(round.begin(), round.end(), i);
    first->CopyToDevice(device_->Arena(), std::as_bytes(std::span(round)));
    first->Record(*there);
    second->Wait(*there);
    second->CopyToHost(std::as_writable_bytes(std::span(seen)), device_->Arena());
    second->Record(*back);
  }
  ASSERT_TRUE(second->Synchronize().has_value());
  EXPECT_EQ(seen, std::vector<uint64_t>(kBytes / 8, 20));
  EXPECT_EQ(shared[0], 20U);
}

TEST_P(HostStreamTest, WaitKeepsThePointThatWasRecordedWhenItWasCalled) {
  const auto slow = NewStream("slow"), quick = NewStream("quick"), waiting = NewStream("waiting");
  const auto event = device_->NewEvent();
  std::latch hold(1);
  bool slow_done = false, seen = false;
  slow->Notify([](void* latch) { static_cast<std::latch*>(latch)->wait(); }, &hold);
  slow->Notify([](void* flag) { *static_cast<bool*>(flag) = true; }, &slow_done);
  slow->Record(*event);
  waiting->Wait(*event);
  quick->Record(*event);  // moves the event; the wait above is still for the slow stream
  event->Synchronize();
  struct Copy {
    bool *from, *to;
  } copy{&slow_done, &seen};
  waiting->Notify([](void* c) { *static_cast<Copy*>(c)->to = *static_cast<Copy*>(c)->from; }, &copy);
  hold.count_down();
  ASSERT_TRUE(waiting->Synchronize().has_value());
  EXPECT_TRUE(seen);
}

TEST_P(HostStreamTest, AnEventOutlivesItsStream) {
  const auto event = device_->NewEvent();
  {
    const auto stream = NewStream("brief");
    stream->FillZero(device_->Arena(), 64);
    stream->Record(*event);
  }
  event->Synchronize();
  const auto other = NewStream("other");
  other->Wait(*event);
  EXPECT_TRUE(other->Synchronize().has_value());
}

struct Counter {
  std::latch hold{1};
  std::vector<size_t> order;
};
struct Mark {
  Counter* counter;
  size_t index;
};

TEST_P(HostStreamTest, AFullQueueBlocksItsFeederAndLosesNothing) {
  Counter counter;
  std::vector<Mark> marks(3 * kQueueDepth);
  for (size_t i = 0; i < marks.size(); ++i) marks[i] = {&counter, i};
  {
    const auto stream = NewStream("full");
    stream->Notify([](void* c) { static_cast<Counter*>(c)->hold.wait(); }, &counter);
    for (size_t i = 0; i < marks.size(); ++i) {
      if (i == kQueueDepth - 1) counter.hold.count_down();  // one more would wait for ever
      stream->Notify(
          [](void* m) {
            const Mark& mark = *static_cast<Mark*>(m);
            mark.counter->order.push_back(mark.index);
          },
          &marks[i]);
    }
  }  // the destructor waits for all of it
  std::vector<size_t> expected(marks.size());
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(counter.order, expected);
}

TEST_P(HostStreamTest, ArgumentsAreCopiedWhenTheOperationIsGiven) {
  const auto stream = NewStream("compute");
  std::latch hold(1);
  stream->Notify([](void* latch) { static_cast<std::latch*>(latch)->wait(); }, &hold);
  auto* const x = reinterpret_cast<float*>(device_->Arena());
  auto* const y = x + 64;
  for (int i = 0; i < 64; ++i) x[i] = 1, y[i] = 2;
  {
    Fold fold{y, true};
    stream->operations().LinearBackwardWeights(x, x, 4, 1, {}, fold, 8);
    fold = {nullptr, false};
  }
  hold.count_down();
  ASSERT_TRUE(stream->Synchronize().has_value());
  EXPECT_EQ(y[0], 10.0F);  // 2 + eight rows of 1
}

TEST_P(HostStreamTest, StreamsThatComputeTakeTurnsAtTheTeam) {
  const auto a = NewStream("a"), b = NewStream("b");
  auto* const x = reinterpret_cast<float*>(device_->Arena());
  constexpr int64_t kCount = 1 << 17;
  float *const y = x + kCount, *const z = y + kCount;
  a->FillZero(device_->Arena(), 3 * kCount * sizeof(float));
  ASSERT_TRUE(a->Synchronize().has_value());
  for (int64_t i = 0; i < kCount; ++i) x[i] = 1;
  for (int round = 0; round < 10; ++round) {
    a->operations().Add(x, y, kCount);
    b->operations().Add(x, z, kCount);
  }
  ASSERT_TRUE(a->Synchronize().has_value() && b->Synchronize().has_value());
  EXPECT_EQ(std::accumulate(y, y + 2 * kCount, 0.0), 20.0 * kCount);
}

INSTANTIATE_TEST_SUITE_P(Devices, HostStreamTest, testing::Values("cpu", "host:mem=8MiB,pcie=2GB/s,flops=50e9"),
                         [](const auto& instance) { return instance.index == 0 ? "Plain" : "Throttled"; });

TEST(HostDevice, RefusesAnArenaBeyondItsMemory) {
  const auto device = MakeHostDevice(ParseDeviceSpec("host:mem=1MiB").value(), 1).value();
  EXPECT_EQ(device->MemoryBytes(), kMiB);
  const Status status = device->ReserveArena(kMiB + 1);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kDoesNotFit);
  EXPECT_TRUE(device->ReserveArena(kMiB).has_value());
}

// A lower bound is safe on a busy machine: a throttle promises at least this long.
TEST(HostDevice, ACopyTakesAtLeastWhatTheLinkAllows) {
  const auto device = MakeHostDevice(ParseDeviceSpec("host:pcie=10MB/s").value(), 1).value();
  ASSERT_TRUE(device->ReserveArena(kMiB).has_value());
  std::vector<std::byte> host(100'000);
  const auto up = device->NewStream("up", {}), down = device->NewStream("down", {});
  const auto start = std::chrono::steady_clock::now();
  up->CopyToDevice(device->Arena(), host);
  up->CopyToDevice(device->Arena(), host);
  ASSERT_TRUE(up->Synchronize().has_value());
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(20));
}

TEST(HostDevice, DescribesItself) {
  const auto device = MakeHostDevice({}, 3).value();
  EXPECT_EQ(device->Description(), "host, 3 threads, " + std::string(IsaName(CpuIsa())));
  EXPECT_FALSE(MakeHostDevice({}, 100'000).has_value());
}

}  // namespace
}  // namespace tidemill::gpu
