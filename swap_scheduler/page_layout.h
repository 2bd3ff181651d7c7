// Cuts a model's parameters into pages. Pure; the same model gives the same pages whatever the budgets are.
//
// A layer's tensors are packed in order into pages no larger than the layer's largest matrix, whole tensors only, so
// that a kernel sees each matrix in one piece. A vocabulary matrix is cut into slices of whole rows, each about as
// large as that same largest matrix: the smallest device that works holds a layer, never a vocabulary. A vocabulary
// that is huge beside its layers is cut into no more than kVocabularySlicesMax. Frozen and trainable tensors do not
// share a page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tidemill::swap_scheduler {

// A tensor starts at a multiple of this many elements within its page, so that no block of block-wise optimizer state
// (256 elements) holds parts of two tensors, which may be stepped with different coefficients.
inline constexpr uint64_t kSegmentAlignment = 256;

// A slice costs operations in every step, and all of them must be planned.
inline constexpr uint64_t kVocabularySlicesMax = 1024;

struct TensorShape {
  std::string name;
  uint64_t rows = 0, cols = 1;  // a vector is rows x 1
  bool trainable = true;
  bool decay = false;  // weight decay applies

  uint64_t elements() const { return rows * cols; }
};

// The tensors of a model by block, in the order of the forward pass.
struct ModelTensors {
  TensorShape embedding;
  std::vector<std::vector<TensorShape>> layers;
  TensorShape final_norm;
  TensorShape head;  // rows == 0: tied to the embedding
};

// A tensor, or some rows of a vocabulary matrix, within a page.
struct Segment {
  std::string tensor;
  uint64_t tensor_offset = 0;  // elements before it in the tensor
  uint64_t page_offset = 0;    // elements before it in the page
  uint64_t elements = 0;
  bool decay = false;
};

struct ParamPage {
  std::string name;  // "layers.3.1"
  std::vector<Segment> segments;
  uint64_t elements = 0;  // padding between segments included
  bool trainable = true;
  uint64_t first_row = 0, rows = 0;  // vocabulary slices only
};

struct TensorPlace {
  uint32_t page = 0;         // index into PageLayout::pages
  uint64_t page_offset = 0;  // elements
};

struct PageLayout {
  std::vector<ParamPage> pages;                         // embedding slices, layers, final norm, head slices
  std::vector<uint32_t> embedding;                      // page indices, in row order
  std::vector<std::vector<uint32_t>> layers;            // page indices of each layer
  std::vector<std::vector<TensorPlace>> layer_tensors;  // where each tensor of each layer is, in ModelTensors' order
  uint32_t final_norm = 0;
  std::vector<uint32_t> head;  // page indices; the embedding's own when tied
  bool tied = false;

  // Elements of all pages before this one, padding included, a multiple of kSegmentAlignment: with the offset in the
  // page, an index unique in the model.
  uint64_t ElementsBefore(uint32_t page) const;
};

PageLayout LayOut(const ModelTensors& model);

}  // namespace tidemill::swap_scheduler
