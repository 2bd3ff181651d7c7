#include "train/weights.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "train/signals.h"

namespace tidemill::train {
namespace {

using swap_scheduler::ModelTensors;
using swap_scheduler::PageLayout;
using swap_scheduler::Segment;
using swap_scheduler::TensorShape;

constexpr std::string_view kHeadName = "lm_head.weight";

std::vector<const TensorShape*> AllTensors(const ModelTensors& tensors) {
  std::vector<const TensorShape*> all{&tensors.embedding};
  for (const auto& layer : tensors.layers) {
    for (const TensorShape& tensor : layer) all.push_back(&tensor);
  }
  all.push_back(&tensors.final_norm);
  if (tensors.head.rows > 0) all.push_back(&tensors.head);
  return all;
}

std::vector<uint64_t> ShapeOf(const TensorShape& tensor) {
  return tensor.cols == 1 ? std::vector<uint64_t>{tensor.rows} : std::vector<uint64_t>{tensor.rows, tensor.cols};
}

bool IsFloat(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBf16 || dtype == DType::kF16 || dtype == DType::kF64;
}

// Buffers that old checkpoints carry along; they follow from config.json.
bool IsDerived(std::string_view name) { return name.ends_with("rotary_emb.inv_freq") || name.ends_with("masked_bias"); }

Status CheckTiedHead(const data::ModelFolder& folder, const TensorShape& embedding) {
  const data::FolderTensor* const head = folder.Find(kHeadName);
  if (head == nullptr) return Ok();
  TM_ASSIGN_OR_RETURN(const data::FolderTensor table, folder.Get(embedding.name));
  TM_ASSIGN_OR_RETURN(const bool same, data::SameValues(table, *head));
  if (same) return Ok();
  return Fail(ErrorCode::kInvalidArgument, "lm_head.weight differs from " + embedding.name +
                                               " and config.json ties them (" + folder.directory() +
                                               "): set tie_word_embeddings to false, or remove the tensor");
}

// Where the parts of each tensor are: page and segment.
std::unordered_map<std::string, std::vector<std::pair<uint32_t, const Segment*>>> SegmentsByTensor(
    const PageLayout& layout) {
  std::unordered_map<std::string, std::vector<std::pair<uint32_t, const Segment*>>> places;
  for (uint32_t page = 0; page < layout.pages.size(); ++page) {
    for (const Segment& segment : layout.pages[page].segments) places[segment.tensor].emplace_back(page, &segment);
  }
  return places;
}

Status CopyFrozen(const data::FolderTensor& tensor, data::ModelFolderWriter& writer) {
  std::vector<std::byte> bytes(std::min<uint64_t>(tensor.entry->bytes, 1 << 20));
  std::vector<float> floats(bytes.size() / 8 + 1);
  const bool same = writer.current()->dtype == tensor.entry->dtype;
  const uint64_t total = same ? tensor.entry->bytes : tensor.entry->elements;
  const uint64_t step = same ? bytes.size() : floats.size();
  for (uint64_t done = 0; done < total; done += step) {
    const uint64_t count = std::min(step, total - done);
    if (same) {
      TM_RETURN_IF_ERROR(tensor.file->ReadBytes(*tensor.entry, done, std::span(bytes).first(count)));
      TM_RETURN_IF_ERROR(writer.Append(std::span(bytes).first(count)));
    } else {
      TM_RETURN_IF_ERROR(tensor.file->ReadAsFloat(*tensor.entry, done, std::span(floats).first(count)));
      TM_RETURN_IF_ERROR(writer.AppendFloats(std::span(floats).first(count)));
    }
  }
  return Ok();
}

std::vector<data::TensorSpec> SavedTensors(const ModelTensors& tensors, const data::ModelFolder& source,
                                           std::optional<DType> save_dtype) {
  std::map<std::string, const TensorShape*> known;
  for (const TensorShape* tensor : AllTensors(tensors)) known[tensor->name] = tensor;
  std::vector<data::TensorSpec> specs;
  for (const data::FolderTensor& tensor : source.tensors()) {
    if (known.contains(tensor.entry->name))
      specs.push_back({tensor.entry->name, save_dtype.value_or(tensor.entry->dtype), tensor.entry->shape});
  }
  return specs;
}

}  // namespace

Status CheckTensors(const data::ModelFolder& folder, const ModelTensors& tensors) {
  std::unordered_map<std::string_view, const TensorShape*> known;
  for (const TensorShape* tensor : AllTensors(tensors)) {
    TM_ASSIGN_OR_RETURN(const data::FolderTensor found, folder.Get(tensor->name));
    if (found.entry->shape != ShapeOf(*tensor))
      return Fail(ErrorCode::kInvalidArgument, "tensor " + tensor->name + " has shape " +
                                                   data::ShapeText(found.entry->shape) + " and config.json makes it " +
                                                   data::ShapeText(ShapeOf(*tensor)) + " (" + found.file->path() +
                                                   "): the two do not belong together");
    if (!IsFloat(found.entry->dtype))
      return Fail(ErrorCode::kInvalidArgument, "tensor " + tensor->name + " has dtype " +
                                                   std::string(SafetensorsName(found.entry->dtype)) + " (" +
                                                   found.file->path() + "): quantised checkpoints cannot be trained");
    known[tensor->name] = tensor;
  }
  for (const data::FolderTensor& tensor : folder.tensors()) {
    const std::string& name = tensor.entry->name;
    if (known.contains(name) || IsDerived(name) || (tensors.head.rows == 0 && name == kHeadName)) continue;
    return Fail(ErrorCode::kInvalidArgument, "tensor " + name +
                                                 " is not part of the model that config.json describes (" +
                                                 tensor.file->path() + "): check config.json");
  }
  return tensors.head.rows == 0 ? CheckTiedHead(folder, tensors.embedding) : Ok();
}

Status LoadWeights(const data::ModelFolder& folder, offload::ModelState& state, bool fresh_moments) {
  const PageLayout& layout = state.layout();
  for (uint32_t page = 0; page < layout.pages.size(); ++page) {
    TM_RETURN_IF_ERROR(CheckNotStopped());  // there is nothing to save yet
    const std::span<float> values = state.values(page);
    std::fill(values.begin(), values.end(), 0.0F);
    for (const Segment& segment : layout.pages[page].segments) {
      TM_ASSIGN_OR_RETURN(const data::FolderTensor tensor, folder.Get(segment.tensor));
      TM_RETURN_IF_ERROR(tensor.file->ReadAsFloat(*tensor.entry, segment.tensor_offset,
                                                  values.subspan(segment.page_offset, segment.elements)));
    }
    TM_RETURN_IF_ERROR(state.WriteMaster(page));
    if (!fresh_moments || !layout.pages[page].trainable) continue;
    std::fill(values.begin(), values.end(), 0.0F);
    TM_RETURN_IF_ERROR(state.WriteMoment(page, offload::Moment::kExpAvg));
    TM_RETURN_IF_ERROR(state.WriteMoment(page, offload::Moment::kExpAvgSq));
  }
  return Ok();
}

Status SaveWeights(const data::ModelFolder& source, const ModelTensors& tensors, offload::ModelState& state,
                   std::optional<DType> save_dtype, uint64_t max_shard_bytes, const std::string& directory) {
  const auto places = SegmentsByTensor(state.layout());
  const auto specs = SavedTensors(tensors, source, save_dtype);
  TM_ASSIGN_OR_RETURN(data::ModelFolderWriter writer,
                      data::ModelFolderWriter::Create(directory, specs, max_shard_bytes));
  std::optional<uint32_t> at_hand;
  for (const data::TensorSpec& spec : specs) {
    TM_ASSIGN_OR_RETURN(const data::FolderTensor original, source.Get(spec.name));
    const auto& parts = places.at(spec.name);
    if (!state.layout().pages[parts.front().first].trainable) {
      TM_RETURN_IF_ERROR(CopyFrozen(original, writer));
      continue;
    }
    for (const auto& [page, segment] : parts) {
      if (at_hand != page) TM_RETURN_IF_ERROR(state.ReadMaster(page));
      at_hand = page;
      const std::span<const float> values = state.values(page).subspan(segment->page_offset, segment->elements);
      // The last step may have overflowed, and no later one has noticed: what is saved must be worth keeping.
      if (!std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); }))
        return Fail(ErrorCode::kNotFinite, "tensor " + spec.name + " has become infinite or not a number (" +
                                               directory +
                                               "): it was not saved; lower --learning-rate, and resume from the last "
                                               "checkpoint");
      TM_RETURN_IF_ERROR(writer.AppendFloats(values));
    }
  }
  return writer.Commit();
}

uint64_t SavedBytes(const ModelTensors& tensors, const data::ModelFolder& source, std::optional<DType> save_dtype) {
  uint64_t bytes = 0;
  for (const data::TensorSpec& spec : SavedTensors(tensors, source, save_dtype)) bytes += data::BytesOf(spec);
  return bytes;
}

}  // namespace tidemill::train
