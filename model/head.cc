#include "model/head.h"

#include <algorithm>

#include "base/check.h"
#include "model/layer_memory.h"
#include "model/tensors.h"

namespace tidemill::model {
namespace {

constexpr int64_t kChunkRows = 1024;

// Calls body(first row, rows, logits) chunk by chunk; logits lie in `kept` or take turns in scratch.
template <typename Body>
void ForChunks(const VocabularySlice& slice, int64_t rows, float* kept, float* scratch, const Body& body) {
  TM_CHECK(kept != nullptr || scratch != nullptr);
  const int64_t step = HeadChunkRows(rows);
  for (int64_t row = 0; row < rows; row += step)
    body(row, std::min(step, rows - row), kept != nullptr ? kept + row * slice.weights.rows : scratch);
}

}  // namespace

void EmbedSliceForward(gpu::Operations& ops, const VocabularySlice& slice, const BatchView& batch, float* x) {
  ops.EmbedForward(slice.weights, slice.first_id, batch.ids, x, batch.rows);
}

void EmbedSliceBackward(gpu::Operations& ops, const VocabularySlice& slice, const BatchView& batch, const float* dx,
                        gpu::Fold fold) {
  if (fold.data == nullptr) return;
  ops.EmbedBackward(dx, batch.ids, slice.first_id, slice.weights.rows, slice.weights.cols, fold, batch.rows);
}

int64_t HeadChunkRows(int64_t rows) { return std::min(rows, kChunkRows); }
int64_t HeadScratchFloats(const ModelConfig& config, int64_t rows) {
  return AlignFloats(HeadChunkRows(rows) * VocabularySliceRows(config));
}
int64_t HeadLogitsFloats(int64_t rows, int64_t slice_rows) { return AlignFloats(rows * slice_rows); }

void HeadNormForward(gpu::Operations& ops, const ModelConfig& config, const gpu::Weights& norm, const float* x,
                     float* xn, float* inverse_rms, int64_t rows) {
  ops.RmsNormForward(x, norm, config.rms_epsilon, xn, inverse_rms, rows, config.hidden);
}

void HeadSliceForward(gpu::Operations& ops, const VocabularySlice& slice, const BatchView& batch, const float* xn,
                      const HeadStatistics& statistics, float* logits, float* scratch) {
  ForChunks(slice, batch.rows, logits, scratch, [&](int64_t row, int64_t rows, float* chunk) {
    ops.LinearForward(xn + row * slice.weights.cols, slice.weights, {}, chunk, rows, false);
    ops.LossStatistics(chunk, slice.first_id, slice.weights.rows, batch.targets + row, statistics.maximum + row,
                       statistics.sum + row, statistics.target_logit + row, rows, slice.first);
  });
}

void HeadFinish(gpu::Operations& ops, const BatchView& batch, const HeadStatistics& statistics, double* loss_sum) {
  ops.LossFinish(batch.targets, statistics.maximum, statistics.sum, statistics.target_logit, loss_sum, batch.rows);
}

void HeadSliceBackward(gpu::Operations& ops, const VocabularySlice& slice, const BatchView& batch, const float* xn,
                       const HeadStatistics& statistics, float scale, float* dxn, gpu::Fold fold, float* logits,
                       float* scratch) {
  const int64_t hidden = slice.weights.cols, ids = slice.weights.rows;
  ForChunks(slice, batch.rows, logits, scratch, [&](int64_t row, int64_t rows, float* chunk) {
    const float* const input = xn + row * hidden;
    if (logits == nullptr) ops.LinearForward(input, slice.weights, {}, chunk, rows, false);
    ops.LossGradient(chunk, slice.first_id, ids, batch.targets + row, statistics.maximum + row, scale, rows);
    if (dxn != nullptr) ops.LinearBackwardInput(chunk, slice.weights, dxn + row * hidden, rows, !slice.first);
    if (fold.data == nullptr) return;
    ops.LinearBackwardWeights(input, chunk, hidden, ids, {fold.data, fold.accumulate || row > 0}, {}, rows);
  });
}

void HeadNormBackward(gpu::Operations& ops, const ModelConfig& config, const gpu::Weights& norm, const float* x,
                      const float* inverse_rms, const float* dxn, float* d, gpu::Fold fold, int64_t rows) {
  ops.RmsNormBackward(x, norm, inverse_rms, dxn, d, false, fold, rows, config.hidden);
}

void HeadSliceLogits(gpu::Operations& ops, const VocabularySlice& slice, const float* xn, float* logits, int64_t rows) {
  ops.LinearForward(xn, slice.weights, {}, logits, rows, false);
}

}  // namespace tidemill::model
