// From the views of a layer's pages to the tensors that model/ speaks of. Made once; binding allocates nothing.
#pragma once

#include <span>
#include <vector>

#include "base/dtype.h"
#include "model/layer.h"
#include "swap_scheduler/page_layout.h"

namespace tidemill::train {

class LayerBinding {
 public:
  LayerBinding(const model::ModelConfig& config, const swap_scheduler::PageLayout& layout, DType param_dtype);

  // `views`: of the layer's param pages, in the layout's order.
  model::LayerWeights Weights(size_t layer, std::span<std::byte* const> views) const;
  // `views`: of the folds of the layer's trainable pages, in the layout's order.
  model::LayerFolds Folds(size_t layer, std::span<std::byte* const> views, bool accumulate) const;

 private:
  struct Tensor {
    model::Role role;
    size_t page_view, fold_view;  // positions among the views
    bool trainable;
    uint64_t page_offset;  // elements
    int64_t rows, cols;
  };
  const DType param_dtype_;
  std::vector<std::vector<Tensor>> layers_;
};

}  // namespace tidemill::train
