// A step program shaped like the training of a transformer with a tied embedding: enough to see sizes, traffic and
// planning time without a model.
#pragma once

#include "tests/fakes/programs.h"

namespace tidemill::fakes {

struct TrainingShape {
  uint32_t layers = 4, micro_batches = 2;
  uint64_t layer_parameters = 1 << 16, vocabulary_parameters = 1 << 18;
  uint64_t tile = 1 << 14;              // parameters in a page of each kind
  uint64_t activation_bytes = 1 << 16;  // of a block boundary, for one micro-batch
  uint64_t parameter_bytes = 2;         // 2: param and rest; 4: param alone
  Tier params = Tier::kHost, optimizer = Tier::kHost, gradients = Tier::kHost, activations = Tier::kHost;
};

class TrainingWriter {
 public:
  explicit TrainingWriter(const TrainingShape& shape) : s_(shape) {}

  Program Write() {
    const std::vector<Tile> embedding = Tiles(s_.vocabulary_parameters);
    std::vector<std::vector<Tile>> layers;
    for (uint32_t l = 0; l < s_.layers; ++l) layers.push_back(Tiles(s_.layer_parameters));
    Forward(embedding, layers);
    Backward(embedding, layers);
    w_.On(Tier::kDevice, ++block_, {}, OperationKind::kNorm);
    Update(embedding);
    for (const auto& tiles : layers) Update(tiles);
    return w_.program();
  }

 private:
  struct Tile {
    PageId param, rest, exp_avg, exp_avg_sq, fold, grad;
  };

  std::vector<Tile> Tiles(uint64_t parameters) {
    std::vector<Tile> tiles;
    for (uint64_t at = 0; at < parameters; at += s_.tile) {
      const uint64_t n = std::min(s_.tile, parameters - at);
      const auto units = [&](uint64_t width) { return (n * width + 4095) / 4096; };
      Tile t{};
      t.param = w_.Add(Kind::kParam, s_.params, true, units(s_.parameter_bytes));
      t.rest = s_.parameter_bytes == 4 ? t.param : w_.Add(Kind::kRest, s_.optimizer, true, units(2));
      t.exp_avg = w_.Add(Kind::kExpAvg, s_.optimizer, true, units(4));
      t.exp_avg_sq = w_.Add(Kind::kExpAvgSq, s_.optimizer, true, units(4));
      t.fold = w_.Add(Kind::kFold, s_.gradients, false, units(4));
      t.grad = w_.Add(Kind::kGrad, s_.gradients, false, units(s_.parameter_bytes));
      tiles.push_back(t);
    }
    return tiles;
  }

  static void ReadParams(const std::vector<Tile>& tiles, std::vector<Use>& uses) {
    for (const Tile& t : tiles) uses.push_back({t.param, Access::kRead});
  }

  std::vector<PageId> Activations() {
    std::vector<PageId> pages;
    for (uint32_t m = 0; m < s_.micro_batches; ++m) {
      pages.push_back(w_.Add(Kind::kActivation, s_.activations, false, (s_.activation_bytes + 4095) / 4096));
    }
    return pages;
  }

  // The vocabulary is worked on a tile at a time, a layer at once; each block for all micro-batches.
  void Forward(const std::vector<Tile>& embedding, const std::vector<std::vector<Tile>>& layers) {
    x_ = {Activations()};
    for (size_t k = 0; k < embedding.size(); ++k) {
      ++block_;
      for (const PageId x : x_[0]) {
        const Access access = k == 0 ? Access::kMake : Access::kUpdate;
        w_.On(Tier::kDevice, block_, {{embedding[k].param, Access::kRead}, {x, access}}, OperationKind::kEmbedForward);
      }
    }
    for (const auto& tiles : layers) {
      x_.push_back(Activations());
      ++block_;
      for (uint32_t m = 0; m < s_.micro_batches; ++m) {
        std::vector<Use> uses{{x_[x_.size() - 2][m], Access::kRead}, {x_.back()[m], Access::kMake}};
        ReadParams(tiles, uses);
        w_.On(Tier::kDevice, block_, uses);
      }
    }
  }

  void Backward(const std::vector<Tile>& embedding, const std::vector<std::vector<Tile>>& layers) {
    const std::vector<PageId> dx = Activations();
    for (size_t k = 0; k < embedding.size(); ++k) {
      const bool last = k + 1 == embedding.size();
      ++block_;
      for (uint32_t m = 0; m < s_.micro_batches; ++m) {
        w_.On(Tier::kDevice, block_,
              {{embedding[k].param, Access::kRead},
               {x_.back()[m], Access::kRead, last},
               {dx[m], k == 0 ? Access::kMake : Access::kUpdate},
               {embedding[k].fold, m == 0 ? Access::kMake : Access::kUpdate}},
              OperationKind::kHeadBackward);
      }
    }
    for (size_t l = layers.size(); l-- > 0;) {
      ++block_;
      for (uint32_t m = 0; m < s_.micro_batches; ++m) {
        std::vector<Use> uses{{x_[l][m], Access::kRead, true}, {dx[m], Access::kUpdate}};
        ReadParams(layers[l], uses);
        for (const Tile& t : layers[l]) uses.push_back({t.fold, m == 0 ? Access::kMake : Access::kUpdate});
        w_.On(Tier::kDevice, block_, uses, OperationKind::kBlockBackward);
      }
      Finish(layers[l]);
    }
    for (const Tile& t : embedding) {
      ++block_;
      for (uint32_t m = 0; m < s_.micro_batches; ++m) {
        const bool last = t.param == embedding.back().param;
        w_.On(Tier::kDevice, block_, {{dx[m], Access::kRead, last}, {t.fold, Access::kUpdate}},
              OperationKind::kEmbedBackward);
      }
      Finish({t});
    }
  }

  void Finish(const std::vector<Tile>& tiles) {
    for (const Tile& t : tiles) {
      w_.On(Tier::kDevice, block_, {{t.fold, Access::kRead, true}, {t.grad, Access::kMake}},
            OperationKind::kFinishGrad);
    }
  }

  void Update(const std::vector<Tile>& tiles) {
    ++block_;
    for (const Tile& t : tiles) {
      std::vector<Use> uses{{t.param, Access::kUpdate},
                            {t.exp_avg, Access::kUpdate},
                            {t.exp_avg_sq, Access::kUpdate},
                            {t.grad, Access::kRead, true}};
      if (t.rest != t.param) uses.push_back({t.rest, Access::kUpdate});
      const Tier tier = s_.optimizer == Tier::kDevice ? Tier::kDevice : Tier::kHost;
      w_.On(tier, block_, uses, OperationKind::kAdam).after_norm = true;
    }
  }

  const TrainingShape s_;
  ProgramWriter w_;
  uint32_t block_ = 0;
  std::vector<std::vector<PageId>> x_;
};

}  // namespace tidemill::fakes
