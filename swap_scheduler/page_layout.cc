#include "swap_scheduler/page_layout.h"

#include <algorithm>

#include "base/byte_size.h"
#include "base/check.h"

namespace tidemill::swap_scheduler {
namespace {

uint64_t LargestMatrix(const ModelTensors& model) {
  uint64_t largest = 0;
  for (const auto& layer : model.layers) {
    for (const TensorShape& tensor : layer) largest = std::max(largest, tensor.elements());
  }
  return largest;
}

// Puts the tensor at the end of the page; returns where it starts.
uint64_t Append(ParamPage& page, const TensorShape& tensor, uint64_t tensor_offset, uint64_t elements) {
  const uint64_t start = AlignUp(page.elements, kSegmentAlignment);
  page.segments.push_back({tensor.name, tensor_offset, start, elements, tensor.decay});
  page.elements = start + elements;
  page.trainable = tensor.trainable;
  return start;
}

class LayoutBuilder {
 public:
  explicit LayoutBuilder(const ModelTensors& model) : page_elements_(std::max<uint64_t>(LargestMatrix(model), 1)) {}

  uint32_t NewPage(std::string name) {
    layout.pages.emplace_back().name = std::move(name);
    return static_cast<uint32_t>(layout.pages.size() - 1);
  }

  std::vector<uint32_t> Slices(const std::string& name, const TensorShape& matrix) {
    const uint64_t fitting = page_elements_ / std::max<uint64_t>(matrix.cols, 1);
    const uint64_t least = (matrix.rows + kVocabularySlicesMax - 1) / kVocabularySlicesMax;
    const uint64_t rows_per_slice = std::max({uint64_t{1}, fitting, least});
    std::vector<uint32_t> slices;
    for (uint64_t row = 0; row < matrix.rows; row += rows_per_slice) {
      const uint64_t rows = std::min(rows_per_slice, matrix.rows - row);
      slices.push_back(NewPage(name + "." + std::to_string(slices.size())));
      ParamPage& page = layout.pages.back();
      Append(page, matrix, row * matrix.cols, rows * matrix.cols);
      page.first_row = row;
      page.rows = rows;
    }
    return slices;
  }

  void Layer(size_t index, const std::vector<TensorShape>& tensors) {
    std::vector<uint32_t> pages;
    std::vector<TensorPlace> places;
    for (const TensorShape& tensor : tensors) {
      const uint32_t page = PageFor(tensor, pages, index);
      places.push_back({page, Append(layout.pages[page], tensor, 0, tensor.elements())});
    }
    layout.layers.push_back(std::move(pages));
    layout.layer_tensors.push_back(std::move(places));
  }

  PageLayout layout;

 private:
  // The last page of the layer with the same trainability, if the tensor still fits into it; else a new one.
  uint32_t PageFor(const TensorShape& tensor, std::vector<uint32_t>& pages, size_t layer) {
    for (auto page = pages.rbegin(); page != pages.rend(); ++page) {
      const ParamPage& candidate = layout.pages[*page];
      if (candidate.trainable != tensor.trainable) continue;
      if (AlignUp(candidate.elements, kSegmentAlignment) + tensor.elements() <= page_elements_) return *page;
      break;
    }
    pages.push_back(NewPage("layers." + std::to_string(layer) + "." + std::to_string(pages.size())));
    return pages.back();
  }

  const uint64_t page_elements_;
};

}  // namespace

PageLayout LayOut(const ModelTensors& model) {
  LayoutBuilder builder(model);
  PageLayout& layout = builder.layout;
  layout.embedding = builder.Slices("embed", model.embedding);
  for (size_t layer = 0; layer < model.layers.size(); ++layer) builder.Layer(layer, model.layers[layer]);
  layout.final_norm = builder.NewPage("norm");
  Append(layout.pages.back(), model.final_norm, 0, model.final_norm.elements());
  layout.tied = model.head.rows == 0;
  layout.head = layout.tied ? layout.embedding : builder.Slices("head", model.head);
  TM_CHECK(!layout.embedding.empty());
  return layout;
}

uint64_t PageLayout::ElementsBefore(uint32_t page) const {
  uint64_t count = 0;
  for (uint32_t before = 0; before < page; ++before) count += AlignUp(pages[before].elements, kSegmentAlignment);
  return count;
}

}  // namespace tidemill::swap_scheduler
