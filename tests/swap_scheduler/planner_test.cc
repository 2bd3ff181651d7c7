// Small programs written by hand, and the plans they must get.
#include <gtest/gtest.h>

#include "tests/fakes/plan_proof.h"
#include "tests/fakes/programs.h"

namespace tidemill::swap_scheduler {
namespace {

using enum Tier;
using enum Access;
constexpr uint64_t kPage = 4096;

// One word per event: "op0", "up 3", "down 3", "read 3", "write 3".
std::vector<std::string> Words(const Plan& plan) {
  std::vector<std::string> words;
  for (const Event& e : plan.events) {
    const std::string page = std::to_string(e.page);
    if (e.op >= 0) words.push_back("op" + std::to_string(e.op));
    if (e.op < 0 && e.lane == Lane::kUpload) words.push_back("up " + page);
    if (e.op < 0 && e.lane == Lane::kDownload) words.push_back("down " + page);
    if (e.op < 0 && e.lane == Lane::kNvmeRead) words.push_back("read " + page);
    if (e.op < 0 && e.lane == Lane::kNvmeWrite) words.push_back("write " + page);
  }
  return words;
}

std::vector<std::string> PlanWords(const Program& program, uint64_t device_pages, uint64_t host_pages,
                                   const LookAhead& ahead) {
  const Budgets budgets{device_pages * kPage, host_pages * kPage};
  const auto plan = MakePlan(program, budgets, ahead);
  if (!plan) return {plan.error().message};
  EXPECT_EQ(fakes::PlanProof(program, budgets, *plan).Run(), "");
  return Words(*plan);
}

using List = std::vector<std::string>;

TEST(Planner, UploadsAParameterOnceForAllThatReadItWhileThereIsRoom) {
  fakes::ProgramWriter w;
  const PageId param = w.Persistent(kHost);
  for (uint32_t i = 0; i < 3; ++i) w.On(kDevice, 10 * i, {{param, kRead}});
  EXPECT_EQ(PlanWords(w.program(), 1, 1, {2, 2}), (List{"up 0", "op0", "op1", "op2"}));
}

TEST(Planner, MovesNothingWhenAllIsAtHomeWhereItIsUsed) {
  fakes::ProgramWriter w;
  const PageId param = w.Persistent(kDevice), state = w.Persistent(kHost);
  w.On(kDevice, 0, {{param, kUpdate}});
  w.On(kHost, 1, {{state, kUpdate}});
  EXPECT_EQ(PlanWords(w.program(), 1, 1, {2, 2}), (List{"op0", "op1"}));
}

TEST(Planner, TakesAStoredPageThroughHostMemoryBothWays) {
  fakes::ProgramWriter w;
  const PageId state = w.Persistent(kNvme);
  w.On(kDevice, 0, {{state, kUpdate}});
  EXPECT_EQ(PlanWords(w.program(), 1, 1, {2, 2}), (List{"read 0", "up 0", "op0", "down 0", "write 0"}));
}

TEST(Planner, SendsAnActivationHomeAtOnceAndFetchesItBackThoughTheDeviceHasRoom) {
  fakes::ProgramWriter w;
  const PageId activation = w.Transient(kHost);
  w.On(kDevice, 0, {{activation, kMake}});
  w.On(kDevice, 5, {});
  w.On(kDevice, 10, {{activation, kRead, true}});
  EXPECT_EQ(PlanWords(w.program(), 100, 100, {2, 2}), (List{"op0", "down 0", "op1", "up 0", "op2"}));
}

TEST(Planner, KeepsAnActivationForTheNextBlockWhileItIsSentHome) {
  fakes::ProgramWriter w;
  const PageId activation = w.Transient(kNvme);
  w.On(kDevice, 0, {{activation, kMake}});
  w.On(kDevice, 1, {{activation, kRead}});
  w.On(kDevice, 10, {{activation, kRead, true}});
  EXPECT_EQ(PlanWords(w.program(), 9, 9, {2, 2}), (List{"op0", "down 0", "write 0", "op1", "read 0", "up 0", "op2"}));
}

TEST(Planner, DoesNotSendHomeWhatDiesOrIsWrittenAgainWithinTheWindow) {
  fakes::ProgramWriter w;
  const PageId fold = w.Transient(kNvme), grad = w.Transient(kNvme);
  w.On(kDevice, 0, {{fold, kMake}});
  w.On(kDevice, 0, {{fold, kUpdate}});
  w.On(kDevice, 1, {{fold, kRead}});
  w.On(kDevice, 2, {{fold, kRead, true}, {grad, kMake}});
  w.On(kHost, 3, {{grad, kRead, true}});
  EXPECT_EQ(PlanWords(w.program(), 2, 1, {1, 1}), (List{"op0", "op1", "op2", "op3", "down 1", "write 1", "op4"}));
}

TEST(Planner, SendsAParameterHomeOnceAfterTheLastOfConsecutiveUpdates) {
  fakes::ProgramWriter w;
  const PageId param = w.Persistent(kDevice), stored = w.Persistent(kNvme);
  for (uint32_t i = 0; i < 3; ++i) w.On(kHost, i, {{param, kUpdate}, {stored, kUpdate}});
  EXPECT_EQ(PlanWords(w.program(), 1, 2, {0, 0}), (List{"down 0", "read 1", "op0", "op1", "op2", "up 0", "write 1"}));
}

TEST(Planner, SendsAFoldHomeBetweenGroupsOfMicroBatches) {
  fakes::ProgramWriter w;
  const PageId fold = w.Transient(kHost);
  w.On(kDevice, 0, {{fold, kMake}});
  w.On(kDevice, 0, {{fold, kUpdate}});
  w.On(kDevice, 9, {{fold, kUpdate, true}});
  EXPECT_EQ(PlanWords(w.program(), 1, 1, {2, 2}), (List{"op0", "op1", "down 0", "up 0", "op2"}));
}

TEST(Planner, NeverSpillsBelowHomeAndNamesWhatDoesNotFit) {
  fakes::ProgramWriter w;
  const PageId first = w.Transient(kDevice, 2), second = w.Transient(kDevice, 2);
  w.On(kDevice, 0, {{first, kMake}});
  w.On(kDevice, 5, {{second, kMake, true}}, OperationKind::kBlockBackward).block = 7;
  w.On(kDevice, 9, {{first, kRead, true}});
  const auto plan = MakePlan(w.program(), {3 * kPage, 99 * kPage}, {2, 2});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::kDoesNotFit);
  EXPECT_NE(plan.error().message.find("device memory is too small (block backward 7"), std::string::npos)
      << plan.error().message;
  EXPECT_NE(plan.error().message.find("16.0 KiB of 12.0 KiB"), std::string::npos) << plan.error().message;
}

TEST(Planner, FetchesAheadByBlocksAndOnDemandWhenToldNotTo) {
  fakes::ProgramWriter w;
  std::vector<PageId> params;
  for (int i = 0; i < 4; ++i) params.push_back(w.Persistent(kHost));
  for (uint32_t i = 0; i < 4; ++i) w.On(kDevice, i, {{params[i], kRead}});
  EXPECT_EQ(PlanWords(w.program(), 4, 4, {1, 0}), (List{"up 0", "up 1", "op0", "op1", "up 2", "op2", "up 3", "op3"}));
  EXPECT_EQ(PlanWords(w.program(), 4, 4, {0, 2}), (List{"up 0", "op0", "up 1", "op1", "up 2", "op2", "up 3", "op3"}));
}

TEST(Planner, EvictsWhatIsNeededFarthestInTheFuture) {
  fakes::ProgramWriter w;
  const PageId a = w.Persistent(kHost), b = w.Persistent(kHost), c = w.Persistent(kHost);
  for (const PageId page : {a, b, c, a, c, b}) w.On(kDevice, 0, {{page, kRead}});
  EXPECT_EQ(PlanWords(w.program(), 2, 3, {0, 0}),
            (List{"up 0", "op0", "up 1", "op1", "up 2", "op2", "op3", "op4", "up 1", "op5"}));
}

TEST(Planner, ReadsAStoredParameterOnceWhenHostMemoryCanKeepIt) {
  fakes::ProgramWriter w;
  const PageId a = w.Persistent(kNvme), b = w.Persistent(kNvme);
  for (const PageId page : {a, b, a}) w.On(kDevice, 0, {{page, kRead}});
  EXPECT_EQ(PlanWords(w.program(), 1, 2, {0, 0}),
            (List{"read 0", "up 0", "op0", "read 1", "up 1", "op1", "up 0", "op2"}));
}

TEST(Planner, HoldsUpdatesUntilTheNormIsKnown) {
  fakes::ProgramWriter w;
  const PageId state = w.Persistent(kHost);
  w.On(kDevice, 0, {}, OperationKind::kNorm);
  w.On(kHost, 1, {{state, kUpdate}}, OperationKind::kAdam).after_norm = true;
  const auto plan = MakePlan(w.program(), {0, kPage}, {2, 2});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->events.back().waits_for, std::vector<EventId>{0});
}

TEST(Planner, LaysHomesOutFromTheStartOfTheirTierAndCountsWhatMoves) {
  fakes::ProgramWriter w;
  const PageId device = w.Persistent(kDevice, 2), host = w.Persistent(kHost, 3), device2 = w.Persistent(kDevice, 1);
  const PageId stored = w.Persistent(kNvme, 5);
  w.On(kDevice, 0, {{device, kRead}, {host, kUpdate}, {device2, kRead}, {stored, kRead}});
  const auto plan = MakePlan(w.program(), {20 * kPage, 20 * kPage}, {2, 2});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->home_offset[device], 0u);
  EXPECT_EQ(plan->home_offset[device2], 2 * kPage);
  EXPECT_EQ(plan->home_offset[host], 0u);
  EXPECT_EQ(plan->moved.upload, 8 * kPage);
  EXPECT_EQ(plan->moved.download, 3 * kPage);
  EXPECT_EQ(plan->moved.nvme_read, 5 * kPage);
  EXPECT_EQ(plan->moved.nvme_write, 0u);
  EXPECT_EQ(plan->peak_bytes, (std::array<uint64_t, 3>{11 * kPage, 8 * kPage, 5 * kPage}));
  EXPECT_EQ(plan->peak_items[0][static_cast<size_t>(Kind::kParam)], 11 * kPage);
  EXPECT_EQ(plan->moved_items[static_cast<size_t>(Lane::kUpload)][static_cast<size_t>(Kind::kParam)], 8 * kPage);
}

}  // namespace
}  // namespace tidemill::swap_scheduler
