// A whole model on the host device, forward and backward, everything resident: the plainest caller of model/.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/byte_size.h"
#include "base/token_batch.h"
#include "gpu/host_device.h"
#include "model/head.h"
#include "model/layer.h"
#include "model/rope.h"
#include "model/tensors.h"
#include "tests/model/golden.h"

namespace tidemill::model {

struct Options {
  size_t threads = 2;
  bool recompute = false, keep_logits = false;
  DType weights = DType::kF32;
  std::function<bool(const std::string&)> frozen = [](const std::string&) { return false; };
};

class WholeModel {
 public:
  WholeModel(ModelConfig config, const NamedTensors& weights, Options options)
      : config_(std::move(config)), options_(std::move(options)) {
    device_ = gpu::MakeHostDevice({}, options_.threads).value();
    EXPECT_TRUE(device_->ReserveArena(kArenaBytes).has_value());
    const uint64_t workspace =
        device_->WorkspaceBytes(WorkspaceLimitsOf(config_, kMostRows, kMostSequences, options_.weights));
    std::byte* const start = Take<std::byte>(workspace);
    stream_ = device_->NewStream("compute", {start, workspace});
    for (const TensorInfo& tensor : ModelTensors(config_)) Place(tensor, weights.at(tensor.name));
    const auto frequencies = InverseFrequencies(config_.rope, config_.head_dim);
    std::vector<float> cosines(kMostRows * frequencies.size()), sines(cosines.size());
    FillRopeTables(frequencies, cosines, sines);
    cosines_ = Upload(cosines);
    sines_ = Upload(sines);
  }

  // One micro-batch; adds to the gradients. The sum of its tokens' losses.
  double Run(const TokenBatch& tokens, float scale) {
    const BatchView batch = View(tokens);
    auto& ops = stream_->operations();
    const int64_t values = batch.rows * config_.hidden;
    std::vector<float*> x = {Floats(values)}, kept;
    for (const VocabularySlice& slice : Slices(Role::kEmbedding)) EmbedSliceForward(ops, slice, batch, x[0]);
    float* const scratch = Floats(LayerScratchFloats(config_, batch.rows));
    for (int64_t layer = 0; layer < config_.layers; ++layer) {
      kept.push_back(Floats(KeptFloats(config_, batch.rows)));
      x.push_back(Floats(values));
      LayerForward(ops, config_, layer, LayerOf(layer), batch, x[x.size() - 2], x.back(), kept.back(), scratch);
    }
    float* const d = Floats(values);
    double* const loss = Head(batch, x.back(), d, scale);
    for (int64_t layer = config_.layers - 1; layer >= 0; --layer) {
      const auto l = static_cast<size_t>(layer);
      if (options_.recompute) {
        stream_->FillZero(reinterpret_cast<std::byte*>(kept[l]), Bytes(KeptFloats(config_, batch.rows)));
        LayerForward(ops, config_, layer, LayerOf(layer), batch, x[l], nullptr, kept[l], scratch);
      }
      LayerBackward(ops, config_, layer, LayerOf(layer), batch, x[l], d, kept[l], FoldsOf(layer), scratch);
    }
    for (const VocabularySlice& slice : Slices(Role::kEmbedding))
      EmbedSliceBackward(ops, slice, batch, d, FoldOf(EmbeddingTensor(config_).name, slice));
    EXPECT_TRUE(stream_->Synchronize().has_value());
    started_ = true;
    return *loss;
  }

  // Of a tied model, the two gradients of the one matrix are added.
  NamedTensors Gradients() const {
    NamedTensors all;
    for (const TensorInfo& tensor : ModelTensors(config_)) {
      const auto found = folds_.find(tensor.name);
      if (found == folds_.end()) continue;
      std::vector<float>& grad = all[tensor.name];
      grad.assign(found->second, found->second + tensor.elements());
      if (!config_.tied || tensor.role != Role::kEmbedding) continue;
      for (size_t i = 0; i < grad.size(); ++i) grad[i] += folds_.at("lm_head.weight")[i];
    }
    return all;
  }

  // Logits of one sequence through the cache, fed `step` tokens at a time; [tokens, vocabulary].
  std::vector<float> Generate(const std::vector<int32_t>& ids, int64_t step) {
    const auto count = static_cast<int64_t>(ids.size());
    auto& ops = stream_->operations();
    std::vector<float*> k, v;
    for (int64_t layer = 0; layer < config_.layers; ++layer) {
      k.push_back(Floats(count * config_.kv_columns()));
      v.push_back(Floats(count * config_.kv_columns()));
    }
    std::vector<float> all;
    for (int64_t at = 0; at < count; at += step) {
      TokenBatch tokens;
      for (int64_t t = at; t < std::min(count, at + step); ++t) {
        tokens.ids.push_back(ids[static_cast<size_t>(t)]);
        tokens.positions.push_back(static_cast<int32_t>(t));
      }
      tokens.targets.assign(tokens.ids.size(), kIgnoredTarget);
      tokens.offsets = {0, static_cast<int32_t>(tokens.rows())};
      BatchView batch = View(tokens);
      batch.sequences.key_offsets = Upload(std::vector<int32_t>{0, static_cast<int32_t>(at + batch.rows)});
      float *x = Floats(batch.rows * config_.hidden), *y = Floats(batch.rows * config_.hidden);
      float* const scratch = Floats(CachedScratchFloats(config_, batch.rows));
      for (const VocabularySlice& slice : Slices(Role::kEmbedding)) EmbedSliceForward(ops, slice, batch, x);
      for (int64_t layer = 0; layer < config_.layers; ++layer) {
        const auto l = static_cast<size_t>(layer);
        LayerForwardCached(ops, config_, layer, LayerOf(layer), batch, x, y, k[l], v[l], at, scratch);
        std::swap(x, y);
      }
      const auto logits = Logits(x, batch.rows);
      all.insert(all.end(), logits.begin(), logits.end());
    }
    return all;
  }

 private:
  static constexpr uint64_t kArenaBytes = 256 * kMiB;
  static constexpr int64_t kMostRows = 256, kMostSequences = 8;

  static uint64_t Bytes(int64_t floats) { return static_cast<uint64_t>(floats) * sizeof(float); }

  template <typename T>
  T* Take(uint64_t bytes) {
    auto* const at = reinterpret_cast<T*>(device_->Arena() + used_);
    used_ += AlignUp(bytes, 64);
    EXPECT_LE(used_, kArenaBytes);
    return at;
  }
  float* Floats(int64_t count) { return Take<float>(Bytes(count)); }
  template <typename T>
  T* Upload(const std::vector<T>& values) {
    T* const at = Take<T>(values.size() * sizeof(T));
    stream_->CopyToDevice(reinterpret_cast<std::byte*>(at), std::as_bytes(std::span(values)));
    EXPECT_TRUE(stream_->Synchronize().has_value());
    return at;
  }

  void Place(const TensorInfo& tensor, const std::vector<float>& values) {
    ASSERT_EQ(static_cast<int64_t>(values.size()), tensor.elements()) << tensor.name;
    gpu::Weights view{.dtype = options_.weights, .rows = tensor.rows, .cols = tensor.cols};
    if (options_.weights == DType::kF32) {
      view.data = reinterpret_cast<const std::byte*>(Upload(values));
    } else {
      std::vector<uint16_t> halves;
      for (const float value : values) halves.push_back(RoundToBf16Even(value));
      view.data = reinterpret_cast<const std::byte*>(Upload(halves));
    }
    weights_[tensor.name] = view;
    if (options_.frozen(tensor.name)) return;
    folds_[tensor.name] = Floats(tensor.elements());
    if (config_.tied && tensor.role == Role::kEmbedding) folds_["lm_head.weight"] = Floats(tensor.elements());
  }

  BatchView View(const TokenBatch& tokens) {
    BatchView batch{.rows = tokens.rows(),
                    .ids = Upload(tokens.ids),
                    .positions = Upload(tokens.positions),
                    .targets = Upload(tokens.targets),
                    .sequences = {},
                    .cosines = cosines_,
                    .sines = sines_};
    batch.sequences.query_offsets = batch.sequences.key_offsets = Upload(tokens.offsets);
    batch.sequences.sequences = static_cast<int32_t>(tokens.offsets.size()) - 1;
    return batch;
  }

  std::vector<VocabularySlice> Slices(Role role) const {
    const bool head = role == Role::kHead && !config_.tied;
    const gpu::Weights& whole = weights_.at(head ? "lm_head.weight" : "model.embed_tokens.weight");
    std::vector<VocabularySlice> slices;
    for (int64_t first = 0; first < config_.vocabulary; first += VocabularySliceRows(config_)) {
      gpu::Weights part = whole;
      part.data += static_cast<size_t>(first * whole.cols) * SizeOf(whole.dtype);
      part.rows = std::min(VocabularySliceRows(config_), config_.vocabulary - first);
      slices.push_back({part, static_cast<int32_t>(first), first == 0});
    }
    return slices;
  }

  gpu::Fold FoldOf(const std::string& name, const VocabularySlice& slice) const {
    const auto found = folds_.find(name);
    if (found == folds_.end()) return {};
    return {found->second + slice.first_id * config_.hidden, started_};
  }

  LayerWeights LayerOf(int64_t layer) const {
    LayerWeights views;
    for (const TensorInfo& tensor : LayerTensors(config_, layer)) views[tensor.role] = weights_.at(tensor.name);
    return views;
  }
  LayerFolds FoldsOf(int64_t layer) const {
    LayerFolds views;
    for (const TensorInfo& tensor : LayerTensors(config_, layer))
      if (const auto found = folds_.find(tensor.name); found != folds_.end())
        views[tensor.role] = {found->second, started_};
    return views;
  }

  double* Head(const BatchView& batch, const float* x, float* d, float scale) {
    auto& ops = stream_->operations();
    const int64_t rows = batch.rows;
    const gpu::Weights& norm = weights_.at("model.norm.weight");
    float *const xn = Floats(rows * config_.hidden), *const inverse = Floats(rows);
    const HeadStatistics statistics{Floats(rows), Floats(rows), Floats(rows)};
    float* const scratch = options_.keep_logits ? nullptr : Floats(HeadScratchFloats(config_, rows));
    auto* const loss = Take<double>(sizeof(double));
    std::vector<float*> logits;
    HeadNormForward(ops, config_, norm, x, xn, inverse, rows);
    for (const VocabularySlice& slice : Slices(Role::kHead)) {
      logits.push_back(options_.keep_logits ? Floats(HeadLogitsFloats(rows, slice.weights.rows)) : nullptr);
      HeadSliceForward(ops, slice, batch, xn, statistics, logits.back(), scratch);
    }
    HeadFinish(ops, batch, statistics, loss);
    float* const dxn = Floats(rows * config_.hidden);
    for (size_t s = 0; const VocabularySlice& slice : Slices(Role::kHead))
      HeadSliceBackward(ops, slice, batch, xn, statistics, scale, dxn, FoldOf("lm_head.weight", slice), logits[s++],
                        scratch);
    const auto fold = folds_.find("model.norm.weight");
    HeadNormBackward(ops, config_, norm, x, inverse, dxn, d,
                     fold == folds_.end() ? gpu::Fold{} : gpu::Fold{fold->second, started_}, rows);
    return loss;
  }

  std::vector<float> Logits(const float* x, int64_t rows) {
    auto& ops = stream_->operations();
    float *const xn = Floats(rows * config_.hidden), *const inverse = Floats(rows);
    HeadNormForward(ops, config_, weights_.at("model.norm.weight"), x, xn, inverse, rows);
    std::vector<float> all(static_cast<size_t>(rows * config_.vocabulary));
    for (const VocabularySlice& slice : Slices(Role::kHead)) {
      float* const logits = Floats(HeadLogitsFloats(rows, slice.weights.rows));
      HeadSliceLogits(ops, slice, xn, logits, rows);
      EXPECT_TRUE(stream_->Synchronize().has_value());
      for (int64_t r = 0; r < rows; ++r)
        std::copy_n(logits + r * slice.weights.rows, slice.weights.rows,
                    all.begin() + r * config_.vocabulary + slice.first_id);
    }
    return all;
  }

  ModelConfig config_;
  Options options_;
  std::unique_ptr<gpu::Device> device_;
  std::unique_ptr<gpu::Stream> stream_;
  uint64_t used_ = 0;
  std::map<std::string, gpu::Weights> weights_;
  std::map<std::string, float*> folds_;
  float *cosines_ = nullptr, *sines_ = nullptr;
  bool started_ = false;
};

}  // namespace tidemill::model
