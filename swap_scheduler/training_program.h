// Builds the step programs of training and of evaluation: which operations, in which order, touching which pages.
//
// The uses of each kind of operation, in this order (the interpreter in train/ reads them back in it):
//
//   kEmbedForward   slice's param; x0 (made by the first slice)
//   kBlockForward   the layer's params; x[l]; x[l+1] (made); kept activations (made, if not recomputed);
//                   cache (updated, if any)
//   kHeadForward    slice's param; head state (made by the first slice); first slice also: final norm's param, x[L];
//                   then logits (made, if kept)
//   kHeadBackward   slice's param; head state; d (made by the first); slice's fold if trained; logits if kept;
//                   last slice also: final norm's param, x[L], norm's fold if trained
//   kBlockBackward  the layer's params; x[l]; kept activations if any; d (updated); folds of its trainable pages
//   kEmbedBackward  d; slice's fold
//   kFinishGrad     the page's fold; the head's fold of the same page if tied; grad (made) unless the fold itself is
//                   the gradient
//   kNorm           nothing
//   kAdam           param; rest if any; exp_avg; exp_avg_sq; the gradient
//
// Backward takes the head's slices in reverse order, so that the last used comes first. With several groups of
// micro-batches a fold is kept between them; the first micro-batch of the step makes it, the others update it.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "swap_scheduler/page_layout.h"
#include "swap_scheduler/program.h"

namespace tidemill::swap_scheduler {

// Where the pages of one kind live: shares of the tiers, spread evenly over the pages; they add up to one.
using Shares = std::array<double, kTiers>;
constexpr Shares Everything(Tier tier) {
  Shares shares{};
  shares[static_cast<size_t>(tier)] = 1;
  return shares;
}

struct Placement {
  Shares params = Everything(Tier::kDevice);
  Shares optimizer = Everything(Tier::kDevice);    // rest and moments
  Shares gradients = Everything(Tier::kDevice);    // folds and finished gradients
  Shares activations = Everything(Tier::kDevice);  // boundaries, kept inner activations, head state, d, caches
};

// Bytes of one AdamW moment of a tile: so many an element, then so many for each block of elements, the last may be
// short.
struct MomentSize {
  uint64_t element_bytes = 4, block_elements = 256, block_bytes = 0;  // the default: fp32

  uint64_t Of(uint64_t elements) const {
    return elements * element_bytes + (elements + block_elements - 1) / block_elements * block_bytes;
  }
};

struct StepShape {
  uint32_t micro_batches = 1;
  uint32_t group_size = 1;  // micro-batches that a block is fetched for at once
  bool recompute = true;
  bool keep_logits = false;  // keep the head's logits from its forward to its backward pass
  uint64_t param_bytes = 4;  // of one element: 4 (fp32) or 2 (bf16)
  bool split_master = true;  // bf16 params: with a rest of 2 bytes; else the param is the master
  uint64_t grad_bytes = 4;   // of one element of a finished gradient
  MomentSize moment = {};
  uint64_t tile_elements = 0;  // optimizer state is cut into tiles of this many elements; 0: one tile a page. A
                               // multiple of a moment's block
  // Sizes for the largest micro-batch, in bytes.
  uint64_t boundary_bytes = 0, kept_bytes = 0, head_state_bytes = 0, logits_bytes = 0;
  uint64_t cache_bytes = 0;  // a layer's key-value cache; generation only
};

struct ProgramPages {  // page ids of the persistent kinds, by index of the layout's pages
  std::vector<PageId> param;
  struct State {
    uint64_t first_element = 0, elements = 0;  // of the param page
    std::optional<PageId> rest;
    PageId exp_avg = 0, exp_avg_sq = 0;
  };
  std::vector<std::vector<State>> state;  // tiles of each trainable page, in order
  std::vector<PageId> cache;              // of each layer
};

struct BuiltProgram {
  Program program;
  ProgramPages pages;
};

// One step: forward, backward, norm, update. Persistent pages come first and have the same ids for every shape that
// differs only in micro_batches and group_size.
BuiltProgram TrainingProgram(const PageLayout& layout, const StepShape& shape, const Placement& placement);

// Loss of `micro_batches` without gradients: the same persistent params, no optimizer state unless `with_state` (a
// training run's own evaluation, which must leave the ids alone).
BuiltProgram EvaluationProgram(const PageLayout& layout, const StepShape& shape, const Placement& placement,
                               bool with_state);

}  // namespace tidemill::swap_scheduler
