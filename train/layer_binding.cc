#include "train/layer_binding.h"

#include <algorithm>

#include "base/check.h"

namespace tidemill::train {

using swap_scheduler::PageLayout;
using swap_scheduler::TensorPlace;

LayerBinding::LayerBinding(const model::ModelConfig& config, const PageLayout& layout, DType param_dtype)
    : param_dtype_(param_dtype) {
  for (size_t layer = 0; layer < layout.layers.size(); ++layer) {
    const auto infos = model::LayerTensors(config, static_cast<int64_t>(layer));
    const auto& pages = layout.layers[layer];
    TM_CHECK(infos.size() == layout.layer_tensors[layer].size());
    std::vector<Tensor> tensors;
    for (size_t t = 0; t < infos.size(); ++t) {
      const TensorPlace place = layout.layer_tensors[layer][t];
      const auto at = std::find(pages.begin(), pages.end(), place.page);
      const auto trained =
          std::count_if(pages.begin(), at, [&](uint32_t page) { return layout.pages[page].trainable; });
      tensors.push_back({infos[t].role, static_cast<size_t>(at - pages.begin()), static_cast<size_t>(trained),
                         layout.pages[place.page].trainable, place.page_offset, infos[t].rows, infos[t].cols});
    }
    layers_.push_back(std::move(tensors));
  }
}

model::LayerWeights LayerBinding::Weights(size_t layer, std::span<std::byte* const> views) const {
  model::LayerWeights weights;
  for (const Tensor& tensor : layers_[layer])
    weights[tensor.role] = {views[tensor.page_view] + tensor.page_offset * SizeOf(param_dtype_), param_dtype_,
                            tensor.rows, tensor.cols};
  return weights;
}

model::LayerFolds LayerBinding::Folds(size_t layer, std::span<std::byte* const> views, bool accumulate) const {
  model::LayerFolds folds;
  for (const Tensor& tensor : layers_[layer]) {
    if (tensor.trainable)
      folds[tensor.role] = {reinterpret_cast<float*>(views[tensor.fold_view]) + tensor.page_offset, accumulate};
  }
  return folds;
}

}  // namespace tidemill::train
