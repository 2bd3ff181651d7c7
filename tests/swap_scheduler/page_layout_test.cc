#include "swap_scheduler/page_layout.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/fakes/small_model.h"

namespace tidemill::swap_scheduler {
namespace {

using fakes::SmallModel;

TEST(PageLayout, NoPageIsLargerThanALayersLargestMatrix) {
  const PageLayout layout = LayOut(SmallModel({.layers = 3, .tied = false}));
  for (const ParamPage& page : layout.pages) EXPECT_LE(page.elements, 80U * 48U) << page.name;
}

TEST(PageLayout, EveryElementOfEveryTensorIsInExactlyOnePage) {
  const ModelTensors model = SmallModel({.layers = 2, .tied = false});
  const PageLayout layout = LayOut(model);
  std::map<std::string, std::map<uint64_t, uint64_t>> parts;  // tensor -> offset -> elements
  for (const ParamPage& page : layout.pages) {
    uint64_t end = 0;
    for (const Segment& segment : page.segments) {
      EXPECT_GE(segment.page_offset, end);
      EXPECT_EQ(segment.page_offset % kSegmentAlignment, 0U);
      end = segment.page_offset + segment.elements;
      EXPECT_TRUE(parts[segment.tensor].emplace(segment.tensor_offset, segment.elements).second);
    }
    EXPECT_EQ(end, page.elements);
  }
  std::vector<TensorShape> all{model.embedding, model.final_norm, model.head};
  for (const auto& layer : model.layers) all.insert(all.end(), layer.begin(), layer.end());
  for (const TensorShape& tensor : all) {
    uint64_t covered = 0;
    for (const auto& [offset, elements] : parts.at(tensor.name)) {
      EXPECT_EQ(offset, covered);
      covered += elements;
    }
    EXPECT_EQ(covered, tensor.elements()) << tensor.name;
  }
}

TEST(PageLayout, ALayersTensorIsInOnePieceAndFoundWhereTheLayoutSays) {
  const ModelTensors model = SmallModel({.layers = 2});
  const PageLayout layout = LayOut(model);
  for (size_t layer = 0; layer < 2; ++layer) {
    for (size_t t = 0; t < model.layers[layer].size(); ++t) {
      const TensorPlace place = layout.layer_tensors[layer][t];
      bool found = false;
      for (const Segment& segment : layout.pages[place.page].segments)
        found |= segment.tensor == model.layers[layer][t].name && segment.page_offset == place.page_offset &&
                 segment.elements == model.layers[layer][t].elements();
      EXPECT_TRUE(found) << model.layers[layer][t].name;
    }
  }
}

TEST(PageLayout, FrozenAndTrainedTensorsDoNotShareAPage) {
  ModelTensors model = SmallModel({.layers = 1});
  model.layers[0][0].trainable = false;
  model.layers[0][3].trainable = false;
  const PageLayout layout = LayOut(model);
  for (const ParamPage& page : layout.pages) {
    for (const Segment& segment : page.segments) {
      const bool frozen = segment.tensor == model.layers[0][0].name || segment.tensor == model.layers[0][3].name;
      EXPECT_EQ(page.trainable, !frozen) << segment.tensor;
    }
  }
}

TEST(PageLayout, ATiedHeadIsTheEmbeddingsPages) {
  const PageLayout tied = LayOut(SmallModel({.layers = 1, .tied = true}));
  EXPECT_TRUE(tied.tied);
  EXPECT_EQ(tied.head, tied.embedding);
  const PageLayout untied = LayOut(SmallModel({.layers = 1, .tied = false}));
  EXPECT_FALSE(untied.tied);
  EXPECT_NE(untied.head, untied.embedding);
}

TEST(PageLayout, CutsAHugeVocabularyIntoAtMost1024Slices) {
  ModelTensors model;
  model.embedding = {"embed", 200'001, 8};
  model.layers = {{{"q", 8, 8}, {"gate", 16, 8}}};
  model.final_norm = {"norm", 8, 1};
  const PageLayout layout = LayOut(model);
  EXPECT_EQ(layout.embedding.size(), 1021U);
  EXPECT_EQ(layout.pages[layout.embedding.front()].rows, 196U);
  EXPECT_EQ(layout.pages[layout.embedding.back()].first_row + layout.pages[layout.embedding.back()].rows, 200'001U);
}

}  // namespace
}  // namespace tidemill::swap_scheduler
