#include "swap_scheduler/training_program.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/fakes/small_model.h"

namespace tidemill::swap_scheduler {
namespace {

using fakes::SmallModel;

StepShape Shape(uint32_t micro_batches, uint32_t group) {
  StepShape shape;
  shape.micro_batches = micro_batches;
  shape.group_size = group;
  shape.boundary_bytes = shape.kept_bytes = shape.head_state_bytes = shape.logits_bytes = 4096;
  return shape;
}

size_t Count(const Program& program, OperationKind kind) {
  size_t count = 0;
  for (const Operation& op : program.operations) count += op.kind == kind ? 1 : 0;
  return count;
}

// Every read finds something that was written before; every transient page dies once, and is not touched after.
void CheckLives(const Program& program) {
  std::set<PageId> alive, dead;
  for (size_t i = 0; i < program.operations.size(); ++i) {
    for (const Use& use : program.operations[i].uses) {
      if (program.pages[use.page].persistent) continue;
      EXPECT_FALSE(dead.contains(use.page))
          << program.pages[use.page].name << " is used after its death by operation " << i;
      if (use.access == Access::kMake) {
        EXPECT_TRUE(alive.insert(use.page).second) << program.pages[use.page].name << " is made twice";
      } else {
        EXPECT_TRUE(alive.contains(use.page))
            << program.pages[use.page].name << " is read before it is made by operation " << i;
      }
      if (!use.dies) continue;
      alive.erase(use.page);
      dead.insert(use.page);
    }
  }
  EXPECT_TRUE(alive.empty());
}

TEST(TrainingProgram, PagesAreMadeUsedAndDieInOrderInEveryShape) {
  for (const bool tied : {true, false}) {
    const PageLayout layout = LayOut(SmallModel({.layers = 3, .tied = tied}));
    for (const uint32_t micro_batches : {1U, 2U, 5U}) {
      for (const uint32_t group : {1U, 2U, 5U}) {
        for (const bool keep : {false, true}) {
          StepShape shape = Shape(micro_batches, group);
          shape.recompute = !keep;
          shape.keep_logits = keep;
          shape.grad_bytes = shape.param_bytes = keep ? 2 : 4;
          shape.tile_elements = keep ? 1024 : 0;
          SCOPED_TRACE(testing::Message()
                       << "tied " << tied << " micro " << micro_batches << " group " << group << " keep " << keep);
          CheckLives(TrainingProgram(layout, shape, {}).program);
        }
      }
    }
  }
}

TEST(TrainingProgram, AGradientIsALeftFoldOverMicroBatchesWhateverTheGroup) {
  const PageLayout layout = LayOut(SmallModel({.layers = 2, .tied = false}));
  auto folds = [&](uint32_t group) {
    std::map<std::string, std::vector<uint32_t>> order;  // fold -> micro-batches in the order of their writes
    const BuiltProgram built = TrainingProgram(layout, Shape(4, group), {});
    for (const Operation& op : built.program.operations) {
      if (op.kind == OperationKind::kFinishGrad || op.kind == OperationKind::kAdam) continue;
      for (const Use& use : op.uses) {
        if (built.program.pages[use.page].kind == Kind::kFold)
          order[built.program.pages[use.page].name].push_back(op.micro_batch);
      }
    }
    return order;
  };
  const auto expected = folds(4);
  for (const auto& [fold, order] : expected) EXPECT_EQ(order, (std::vector<uint32_t>{0, 1, 2, 3})) << fold;
  EXPECT_EQ(folds(1), expected);
  EXPECT_EQ(folds(3), expected);
}

TEST(TrainingProgram, PersistentPagesKeepTheirIdsAcrossWindowsAndInEvaluation) {
  const PageLayout layout = LayOut(SmallModel({.layers = 2}));
  const BuiltProgram full = TrainingProgram(layout, Shape(4, 2), {}), last = TrainingProgram(layout, Shape(1, 1), {});
  const BuiltProgram evaluation = EvaluationProgram(layout, Shape(3, 3), {}, true);
  for (PageId id = 0; id < full.program.pages.size() && full.program.pages[id].persistent; ++id) {
    EXPECT_EQ(full.program.pages[id].name, last.program.pages[id].name);
    EXPECT_EQ(full.program.pages[id].name, evaluation.program.pages[id].name);
    EXPECT_EQ(full.program.pages[id].bytes, evaluation.program.pages[id].bytes);
  }
  CheckLives(evaluation.program);
  EXPECT_EQ(Count(evaluation.program, OperationKind::kAdam), 0U);
}

TEST(TrainingProgram, FrozenTensorsHaveNoGradientNoStateAndNoBackwardBelowTheLowestTrained) {
  ModelTensors model = SmallModel({.layers = 3, .tied = true});
  model.embedding.trainable = false;
  for (TensorShape& tensor : model.layers[0]) tensor.trainable = false;
  const PageLayout layout = LayOut(model);
  const BuiltProgram built = TrainingProgram(layout, Shape(2, 2), {});
  CheckLives(built.program);
  for (const Page& page : built.program.pages) {
    if (page.kind == Kind::kParam || page.kind == Kind::kActivation) continue;
    EXPECT_FALSE(page.name.starts_with("embed") || page.name.starts_with("layers.0")) << page.name;
  }
  EXPECT_EQ(Count(built.program, OperationKind::kEmbedBackward), 0U);
  EXPECT_EQ(Count(built.program, OperationKind::kBlockBackward), 4U);  // two layers, two micro-batches
}

TEST(TrainingProgram, SharesAreDealtOutEvenly) {
  const PageLayout layout = LayOut(SmallModel({.layers = 12}));
  Placement placement;
  placement.params = {0, 0.4, 0.6};
  const BuiltProgram built = TrainingProgram(layout, Shape(1, 1), placement);
  size_t host = 0;
  for (const PageId id : built.pages.param) host += built.program.pages[id].home == Tier::kHost ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(host) / static_cast<double>(built.pages.param.size()), 0.4, 0.02);
}

TEST(TrainingProgram, TilesCutTheStateAndNothingElse) {
  const PageLayout layout = LayOut(SmallModel({.layers = 1}));
  StepShape shape = Shape(1, 1);
  shape.tile_elements = 1024;
  const BuiltProgram built = TrainingProgram(layout, shape, {});
  for (size_t page = 0; page < layout.pages.size(); ++page) {
    uint64_t covered = 0;
    for (const ProgramPages::State& tile : built.pages.state[page]) {
      EXPECT_EQ(tile.first_element, covered);
      EXPECT_LE(tile.elements, 1024U);
      covered += tile.elements;
    }
    EXPECT_EQ(covered, layout.pages[page].elements);
  }
}

TEST(TrainingProgram, MomentsTakeTheBytesOfTheirEncodingAndNothingElseChanges) {
  const PageLayout layout = LayOut(SmallModel({.layers = 1}));
  Placement placement;
  placement.optimizer = Everything(Tier::kHost);
  StepShape shape = Shape(1, 1);
  const BuiltProgram exact = TrainingProgram(layout, shape, placement);
  shape.moment = {.element_bytes = 1, .block_elements = 256, .block_bytes = 1};
  const BuiltProgram small = TrainingProgram(layout, shape, placement);
  ASSERT_EQ(small.program.pages.size(), exact.program.pages.size());
  for (size_t page = 0; page < layout.pages.size(); ++page) {
    const ProgramPages::State& tile = small.pages.state[page].front();
    const uint64_t bytes = tile.elements + (tile.elements + 255) / 256;
    for (const PageId id : {tile.exp_avg, tile.exp_avg_sq})
      EXPECT_EQ(small.program.pages[id].bytes, (bytes + 4095) / 4096 * 4096);
    EXPECT_EQ(small.program.pages[small.pages.param[page]].bytes, exact.program.pages[exact.pages.param[page]].bytes);
  }
}

}  // namespace
}  // namespace tidemill::swap_scheduler
