// The engine over a real store: a small program by hand, planned, on the host device, with both pages in a swap file.
#include "offload/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "gpu/host_device.h"
#include "tests/fakes/programs.h"

namespace tidemill::offload {
namespace {

using swap_scheduler::Access;
using swap_scheduler::Plan;
using swap_scheduler::Program;
using swap_scheduler::Tier;

constexpr uint64_t kPage = 4096;

void AddTo(std::byte* page, int amount) { reinterpret_cast<int*>(page)[7] += amount; }

// Adds 10 to the first page of every operation on the host.
class AddTen final : public HostWork {
 public:
  void RunOnHost(const swap_scheduler::Operation&, std::span<std::byte* const> views) override {
    ++calls;
    AddTo(views[0], 10);
  }
  int calls = 0;
};

// Page 0: two slots at 0 and 4096 of the file; page 1: at 8192 and 12288.
Program TwoPages() {
  fakes::ProgramWriter w;
  const auto a = w.Persistent(Tier::kNvme), b = w.Persistent(Tier::kNvme);
  w.On(Tier::kDevice, 0, {{a, Access::kUpdate}});
  w.On(Tier::kDevice, 1, {{b, Access::kUpdate}, {a, Access::kRead}});
  w.On(Tier::kHost, 2, {{a, Access::kUpdate}, {b, Access::kRead}});
  return w.program();
}

class EngineTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing::TempDir() + "/engine_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    plan_ = *swap_scheduler::MakePlan(program_, {16 * kPage, 16 * kPage}, {2, 2});
    schedule_ = MakeSchedule(program_, plan_);
    device_ = std::move(*gpu::MakeHostDevice({}, 1));
    ASSERT_TRUE(device_->ReserveArena(plan_.peak_bytes[0]).has_value());
    StoreConfig config;
    config.host_arena_bytes = plan_.peak_bytes[1];
    config.swap.directories = {directory_};
    config.swap.identity = "a run";
    for (const swap_scheduler::Page& page : program_.pages) {
      config.homes.push_back({page.home, 0, page.bytes});
      config.swap_pages.push_back({page.name, page.bytes, page.persistent});
    }
    auto store = Store::Create(*device_, std::move(config));
    ASSERT_TRUE(store.has_value()) << store.error().message;
    store_ = std::move(*store);
    bytes_ = std::move(*AlignedBuffer::Allocate(kPage));
    for (swap_scheduler::PageId page = 0; page < 2; ++page) {
      std::fill_n(bytes_.data(), kPage, std::byte{0});
      AddTo(bytes_.data(), 100 * static_cast<int>(page));
      ASSERT_TRUE(store_->Write(page, bytes_.span()).has_value());
    }
    compute_ = device_->NewStream("compute", {});
    engine_ = std::make_unique<Engine>(*store_, *compute_, host_work_);
  }
  void TearDown() override {
    engine_.reset();
    compute_.reset();
    store_.reset();
    std::filesystem::remove_all(directory_);
  }

  // Each operation on the device adds 1 to its first page.
  Status RunOperations() {
    engine_->StartStep(schedule_);
    for (size_t op = 0; op < 2; ++op) {
      TM_ASSIGN_OR_RETURN(const Lease lease, engine_->Begin(op));
      compute_->Notify([](void* page) { AddTo(static_cast<std::byte*>(page), 1); }, lease.views[0]);
      engine_->End(op);
    }
    return Ok();
  }
  Status RunStep() {
    TM_RETURN_IF_ERROR(RunOperations());
    TM_ASSIGN_OR_RETURN(report_, engine_->FinishStep());
    return Ok();
  }

  int ValueOf(swap_scheduler::PageId page) {
    EXPECT_TRUE(store_->Read(page, bytes_.span()).has_value());
    return reinterpret_cast<const int*>(bytes_.data())[7];
  }
  std::string path() const { return directory_ + "/tidemill-swap.bin"; }

  // Both slots of page 1: one of them is current.
  void FlipAByteOfPage1() const {
    for (const std::streamoff at : {8192 + 77, 12288 + 77}) {
      std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
      const int byte = file.seekg(at).get();
      file.seekp(at).put(static_cast<char>(byte ^ 0x10));
    }
  }
  void ExpectCorrupt(const Status& status, const std::vector<std::string>& parts) const {
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
    for (const std::string& part : parts)
      EXPECT_NE(status.error().message.find(part), std::string::npos) << part << " in " << status.error().message;
    EXPECT_EQ(host_work_.calls, calls_before_) << "the step went on";
  }

  const Program program_ = TwoPages();
  Plan plan_;
  Schedule schedule_;
  std::string directory_;
  std::unique_ptr<gpu::Device> device_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<gpu::Stream> compute_;
  AddTen host_work_;
  std::unique_ptr<Engine> engine_;
  AlignedBuffer bytes_;
  StepReport report_;
  int calls_before_ = 1;  // of the host's operation, when the damage is done after one step
};

TEST_F(EngineTest, CarriesTheSameStepOutAgainAndAgain) {
  for (int step = 1; step <= 3; ++step) {
    ASSERT_TRUE(RunStep().has_value());
    EXPECT_EQ(ValueOf(0), 11 * step);
    EXPECT_EQ(ValueOf(1), 100 + step);
    EXPECT_EQ(host_work_.calls, step);
  }
}

TEST_F(EngineTest, ReportsWhatThePlanSaidThatItWouldMove) {
  ASSERT_TRUE(RunStep().has_value());
  EXPECT_EQ(report_.moved.nvme_read, plan_.moved.nvme_read);
  EXPECT_EQ(report_.moved.nvme_write, plan_.moved.nvme_write);
  EXPECT_EQ(report_.moved.upload, plan_.moved.upload);
  EXPECT_EQ(report_.moved.download, plan_.moved.download);
  EXPECT_GT(report_.moved.nvme_read, 0U);
}

TEST_F(EngineTest, ViewsAreThePagesOfTheUsesInTheirOrder) {
  engine_->StartStep(schedule_);
  ASSERT_TRUE(engine_->Begin(0).has_value());
  engine_->End(0);
  const auto lease = engine_->Begin(1);
  ASSERT_TRUE(lease.has_value());
  ASSERT_EQ(lease->views.size(), 2U);
  EXPECT_EQ(reinterpret_cast<const int*>(lease->views[0])[7], 100);
  EXPECT_EQ(reinterpret_cast<const int*>(lease->views[1])[7], 0);
  engine_->End(1);
  ASSERT_TRUE(engine_->FinishStep().has_value());
}

TEST_F(EngineTest, AFlippedByteEndsTheStepAndNamesPageFileAndOffset) {
  ASSERT_TRUE(RunStep().has_value());
  FlipAByteOfPage1();
  ExpectCorrupt(RunStep(), {"page 1", path(), "offset 12288"});
}

TEST_F(EngineTest, ATruncatedFileEndsTheStepAndNamesPageFileAndOffset) {
  ASSERT_TRUE(RunStep().has_value());
  std::filesystem::resize_file(path(), 8192);
  ExpectCorrupt(RunStep(), {"page 1", path(), "offset 12288"});
}

TEST_F(EngineTest, ARemovedFileEndsTheStepAndNamesPageFileAndOffset) {
  ASSERT_TRUE(RunStep().has_value());
  std::filesystem::remove(path());
  ExpectCorrupt(RunStep(), {"page 0", path(), "offset "});
}

TEST_F(EngineTest, AFailureIsStillThereWhenTheStepIsFinished) {
  ASSERT_TRUE(RunStep().has_value());
  FlipAByteOfPage1();
  ASSERT_FALSE(RunOperations().has_value());
  EXPECT_FALSE(engine_->FinishStep().has_value());
}

TEST_F(EngineTest, ClosesInTheMiddleOfAStepThatFailedWhileItsOperationsStillRun) {
  calls_before_ = 0;
  FlipAByteOfPage1();
  ExpectCorrupt(RunOperations(), {"page 1"});
  engine_.reset();
}

TEST_F(EngineTest, ClosesInTheMiddleOfAStepThatWentWell) {
  engine_->StartStep(schedule_);
  ASSERT_TRUE(engine_->Begin(0).has_value());
  engine_->End(0);
  engine_.reset();
  EXPECT_EQ(host_work_.calls, 0);
}

}  // namespace
}  // namespace tidemill::offload
