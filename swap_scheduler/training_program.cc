#include "swap_scheduler/training_program.h"

#include <algorithm>
#include <map>

#include "base/byte_size.h"
#include "base/check.h"

namespace tidemill::swap_scheduler {
namespace {

constexpr uint64_t kPageAlignment = 4096;

// Deals tiers out so that after every page each tier's count is as near to its share as it can be.
class Dealer {
 public:
  explicit Dealer(const Shares& shares) : shares_(shares) {}
  Tier Next() {
    for (size_t tier = 0; tier < kTiers; ++tier) owed_[tier] += shares_[tier];
    const auto most = std::max_element(owed_.begin(), owed_.end());
    *most -= 1;
    return static_cast<Tier>(most - owed_.begin());
  }

 private:
  const Shares shares_;
  std::array<double, kTiers> owed_{};
};

class Builder {
 public:
  Builder(const PageLayout& layout, const StepShape& shape, const Placement& placement)
      : layout_(layout), shape_(shape), gradients_(placement.gradients), activations_(placement.activations) {}

  void PersistentPages(const Placement& placement, bool with_state) {
    Dealer params(placement.params), optimizer(placement.optimizer);
    for (const ParamPage& page : layout_.pages)
      pages_.param.push_back(
          NewPage(page.name + ".param", Kind::kParam, page.elements * shape_.param_bytes, params.Next(), true));
    pages_.state.resize(layout_.pages.size());
    for (size_t i = 0; with_state && i < layout_.pages.size(); ++i) {
      if (layout_.pages[i].trainable) StatePages(i, optimizer);
    }
    for (size_t layer = 0; shape_.cache_bytes > 0 && layer < layout_.layers.size(); ++layer)
      pages_.cache.push_back(NewPage("layers." + std::to_string(layer) + ".cache", Kind::kActivation,
                                     shape_.cache_bytes, activations_.Next(), true));
  }

  void ActivationPages(bool backward) {
    const size_t layers = layout_.layers.size();
    boundary_.resize(layers + 1);
    kept_.resize(layers);
    for (uint32_t micro = 0; micro < shape_.micro_batches; ++micro) {
      for (size_t layer = 0; layer <= layers; ++layer)
        boundary_[layer].push_back(NewActivation("x" + std::to_string(layer), micro, shape_.boundary_bytes));
      for (size_t layer = 0; backward && !shape_.recompute && layer < layers; ++layer)
        kept_[layer].push_back(NewActivation("kept" + std::to_string(layer), micro, shape_.kept_bytes));
      head_state_.push_back(NewActivation("head", micro, shape_.head_state_bytes));
      if (!backward) continue;
      gradient_.push_back(NewActivation("d", micro, shape_.boundary_bytes));
      for (size_t slice = 0; shape_.keep_logits && slice < layout_.head.size(); ++slice)
        logits_.push_back(NewActivation("logits" + std::to_string(slice), micro, shape_.logits_bytes));
    }
  }

  void GradientPages() {
    for (const ParamPage& page : layout_.pages) {
      if (!page.trainable) {
        fold_.emplace_back();
        grad_.emplace_back();
        continue;
      }
      const Tier home = gradients_.Next();
      fold_.push_back(NewPage(page.name + ".fold", Kind::kFold, page.elements * 4, home, false));
      grad_.push_back(shape_.grad_bytes == 4
                          ? *fold_.back()
                          : NewPage(page.name + ".grad", Kind::kGrad, page.elements * shape_.grad_bytes, home, false));
    }
    for (const uint32_t page : layout_.head) {
      if (!layout_.tied) {
        head_fold_.push_back(fold_[page]);
      } else if (layout_.pages[page].trainable) {
        head_fold_.emplace_back(NewPage(layout_.pages[page].name + ".head_fold", Kind::kFold,
                                        layout_.pages[page].elements * 4, gradients_.Next(), false));
      } else {
        head_fold_.emplace_back();
      }
    }
  }

  void Forward(uint32_t begin, uint32_t end, bool backward) {
    for (uint32_t slice = 0; slice < layout_.embedding.size(); ++slice) {
      for (uint32_t micro = begin; micro < end; ++micro) {
        Operation& op = Start(OperationKind::kEmbedForward, slice, micro);
        op.first = slice == 0;
        Read(op, pages_.param[layout_.embedding[slice]]);
        MakeOrUpdate(op, boundary_[0][micro], op.first);
      }
      ++phase_block_;
    }
    for (uint32_t layer = 0; layer < layout_.layers.size(); ++layer) {
      for (uint32_t micro = begin; micro < end; ++micro) {
        Operation& op = Start(OperationKind::kBlockForward, layer, micro);
        ReadLayerParams(op, layer);
        Read(op, boundary_[layer][micro]);
        MakeOrUpdate(op, boundary_[layer + 1][micro], true);
        if (backward && !shape_.recompute) MakeOrUpdate(op, kept_[layer][micro], true);
        if (!pages_.cache.empty()) MakeOrUpdate(op, pages_.cache[layer], false);
      }
      ++phase_block_;
    }
    for (uint32_t slice = 0; slice < layout_.head.size(); ++slice) {
      for (uint32_t micro = begin; micro < end; ++micro) HeadForward(slice, micro, backward);
      ++phase_block_;
    }
  }

  void Backward(uint32_t begin, uint32_t end) {
    const bool last_group = end == shape_.micro_batches;
    for (auto slice = static_cast<uint32_t>(layout_.head.size()); slice-- > 0;) {
      for (uint32_t micro = begin; micro < end; ++micro) HeadBackward(slice, micro);
      if (last_group && !layout_.tied) FinishGrad(layout_.head[slice], {});
      if (last_group && slice == 0) FinishGrad(layout_.final_norm, {});
      ++phase_block_;
    }
    for (auto layer = static_cast<uint32_t>(layout_.layers.size()); layer-- > LowestTrainedLayer();) {
      for (uint32_t micro = begin; micro < end; ++micro) BlockBackward(layer, micro);
      for (const uint32_t page : layout_.layers[layer]) {
        if (last_group) FinishGrad(page, {});
      }
      ++phase_block_;
    }
    if (!layout_.pages[layout_.embedding[0]].trainable) return;
    for (uint32_t slice = 0; slice < layout_.embedding.size(); ++slice) {
      for (uint32_t micro = begin; micro < end; ++micro) {
        Operation& op = Start(OperationKind::kEmbedBackward, slice, micro);
        op.first = micro == 0;
        Read(op, gradient_[micro]);
        MakeOrUpdate(op, *fold_[layout_.embedding[slice]], op.first);
      }
      if (last_group) FinishGrad(layout_.embedding[slice], layout_.tied ? head_fold_[slice] : std::nullopt);
      ++phase_block_;
    }
  }

  void Update() {
    Start(OperationKind::kNorm, 0, 0);
    ++phase_block_;
    for (uint32_t page = 0; page < layout_.pages.size(); ++page) {
      for (uint32_t tile = 0; tile < pages_.state[page].size(); ++tile) Adam(page, tile);
      if (!pages_.state[page].empty()) ++phase_block_;
    }
  }

  // Marks each transient page's last use: nobody reads it after that.
  BuiltProgram Finish() {
    std::vector<bool> seen(program_.pages.size());
    for (auto op = program_.operations.rbegin(); op != program_.operations.rend(); ++op) {
      for (Use& use : op->uses) {
        if (!program_.pages[use.page].persistent && !seen[use.page]) use.dies = true;
        seen[use.page] = true;
      }
    }
    return {std::move(program_), std::move(pages_)};
  }

 private:
  PageId NewPage(std::string name, Kind kind, uint64_t bytes, Tier home, bool persistent) {
    program_.pages.push_back({std::move(name), kind, home, persistent, AlignUp(bytes, kPageAlignment)});
    return static_cast<PageId>(program_.pages.size() - 1);
  }
  PageId NewActivation(const std::string& name, uint32_t micro, uint64_t bytes) {
    return NewPage(name + ".micro" + std::to_string(micro), Kind::kActivation, bytes, activations_.Next(), false);
  }

  void StatePages(size_t index, Dealer& optimizer) {
    const ParamPage& page = layout_.pages[index];
    const uint64_t tile = shape_.tile_elements == 0 ? page.elements : std::min(shape_.tile_elements, page.elements);
    for (uint64_t first = 0; first < page.elements; first += tile) {
      ProgramPages::State state;
      state.first_element = first;
      state.elements = std::min(tile, page.elements - first);
      const Tier home = optimizer.Next();
      const std::string name = page.name + "." + std::to_string(pages_.state[index].size());
      if (shape_.param_bytes == 2 && shape_.split_master)
        state.rest = NewPage(name + ".rest", Kind::kRest, state.elements * 2, home, true);
      const uint64_t moment_bytes = shape_.moment.Of(state.elements);
      state.exp_avg = NewPage(name + ".exp_avg", Kind::kExpAvg, moment_bytes, home, true);
      state.exp_avg_sq = NewPage(name + ".exp_avg_sq", Kind::kExpAvgSq, moment_bytes, home, true);
      pages_.state[index].push_back(state);
    }
  }

  Operation& Start(OperationKind kind, uint32_t block, uint32_t micro) {
    Operation op;
    op.kind = kind;
    op.phase_block = phase_block_;
    op.block = block;
    op.micro_batch = micro;
    program_.operations.push_back(std::move(op));
    return program_.operations.back();
  }
  static void Read(Operation& op, PageId page) { op.uses.push_back({page, Access::kRead, false}); }
  static void MakeOrUpdate(Operation& op, PageId page, bool make) {
    op.uses.push_back({page, make ? Access::kMake : Access::kUpdate, false});
  }
  void ReadLayerParams(Operation& op, uint32_t layer) const {
    for (const uint32_t page : layout_.layers[layer]) Read(op, pages_.param[page]);
  }
  PageId Logits(uint32_t slice, uint32_t micro) const { return logits_[micro * layout_.head.size() + slice]; }

  void HeadForward(uint32_t slice, uint32_t micro, bool backward) {
    Operation& op = Start(OperationKind::kHeadForward, slice, micro);
    op.first = slice == 0;
    op.last = slice + 1 == layout_.head.size();
    Read(op, pages_.param[layout_.head[slice]]);
    MakeOrUpdate(op, head_state_[micro], op.first);
    if (op.first) {
      Read(op, pages_.param[layout_.final_norm]);
      Read(op, boundary_.back()[micro]);
    }
    if (backward && shape_.keep_logits) MakeOrUpdate(op, Logits(slice, micro), true);
  }

  void HeadBackward(uint32_t slice, uint32_t micro) {
    Operation& op = Start(OperationKind::kHeadBackward, slice, micro);
    op.first = slice + 1 == layout_.head.size();
    op.last = slice == 0;
    Read(op, pages_.param[layout_.head[slice]]);
    Read(op, head_state_[micro]);
    MakeOrUpdate(op, gradient_[micro], op.first);
    if (head_fold_[slice]) MakeOrUpdate(op, *head_fold_[slice], micro == 0);
    if (shape_.keep_logits) MakeOrUpdate(op, Logits(slice, micro), false);
    if (!op.last) return;
    Read(op, pages_.param[layout_.final_norm]);
    Read(op, boundary_.back()[micro]);
    if (fold_[layout_.final_norm]) MakeOrUpdate(op, *fold_[layout_.final_norm], micro == 0);
  }

  void BlockBackward(uint32_t layer, uint32_t micro) {
    Operation& op = Start(OperationKind::kBlockBackward, layer, micro);
    op.first = micro == 0;
    ReadLayerParams(op, layer);
    Read(op, boundary_[layer][micro]);
    if (!shape_.recompute) Read(op, kept_[layer][micro]);
    MakeOrUpdate(op, gradient_[micro], false);
    for (const uint32_t page : layout_.layers[layer]) {
      if (fold_[page]) MakeOrUpdate(op, *fold_[page], op.first);
    }
  }

  void FinishGrad(uint32_t page, std::optional<PageId> other) {
    if (!fold_[page]) return;
    Operation& op = Start(OperationKind::kFinishGrad, page, 0);
    const bool in_place = *fold_[page] == *grad_[page];
    if (in_place) MakeOrUpdate(op, *fold_[page], false);
    if (!in_place) Read(op, *fold_[page]);
    if (other) Read(op, *other);
    if (!in_place) MakeOrUpdate(op, *grad_[page], true);
  }

  void Adam(uint32_t page, uint32_t tile) {
    const ProgramPages::State& state = pages_.state[page][tile];
    Operation& op = Start(OperationKind::kAdam, page, tile);
    const bool on_device = program_.pages[state.exp_avg].home == Tier::kDevice;
    TM_CHECK(!on_device || shape_.moment.element_bytes == 4);  // devices step fp32 moments only
    op.lane = on_device ? Lane::kCompute : Lane::kAdam;
    op.tier = on_device ? Tier::kDevice : Tier::kHost;
    op.after_norm = true;
    MakeOrUpdate(op, pages_.param[page], false);
    if (state.rest) MakeOrUpdate(op, *state.rest, false);
    MakeOrUpdate(op, state.exp_avg, false);
    MakeOrUpdate(op, state.exp_avg_sq, false);
    Read(op, *grad_[page]);
  }

  // Below this layer nothing is trained, so no gradient has to come down.
  uint32_t LowestTrainedLayer() const {
    if (layout_.pages[layout_.embedding[0]].trainable) return 0;
    for (uint32_t layer = 0; layer < layout_.layers.size(); ++layer) {
      for (const uint32_t page : layout_.layers[layer]) {
        if (layout_.pages[page].trainable) return layer;
      }
    }
    return static_cast<uint32_t>(layout_.layers.size());
  }

  const PageLayout& layout_;
  const StepShape& shape_;
  Dealer gradients_, activations_;
  Program program_;
  ProgramPages pages_;
  uint32_t phase_block_ = 0;
  std::vector<std::vector<PageId>> boundary_, kept_;  // [layer][micro-batch]
  std::vector<PageId> head_state_, gradient_, logits_;
  std::vector<std::optional<PageId>> fold_, grad_;  // of each layout page; none where frozen
  std::vector<std::optional<PageId>> head_fold_;    // of each head slice
};

}  // namespace

BuiltProgram TrainingProgram(const PageLayout& layout, const StepShape& shape, const Placement& placement) {
  TM_CHECK(shape.micro_batches > 0 && shape.group_size > 0);
  TM_CHECK(shape.moment.block_bytes == 0 || shape.tile_elements % shape.moment.block_elements == 0);
  Builder builder(layout, shape, placement);
  builder.PersistentPages(placement, true);
  builder.GradientPages();
  builder.ActivationPages(true);
  for (uint32_t begin = 0; begin < shape.micro_batches; begin += shape.group_size) {
    const uint32_t end = std::min(begin + shape.group_size, shape.micro_batches);
    builder.Forward(begin, end, true);
    builder.Backward(begin, end);
  }
  builder.Update();
  return builder.Finish();
}

BuiltProgram EvaluationProgram(const PageLayout& layout, const StepShape& shape, const Placement& placement,
                               bool with_state) {
  TM_CHECK(shape.micro_batches > 0);
  Builder builder(layout, shape, placement);
  builder.PersistentPages(placement, with_state);
  builder.ActivationPages(false);
  builder.Forward(0, shape.micro_batches, false);
  return builder.Finish();
}

}  // namespace tidemill::swap_scheduler
