// The model's two ends, one vocabulary slice at a time: embedding; final norm, head and cross-entropy.
//
// For each micro-batch the loss takes two passes over the slices of the head's matrix, in order:
//
//   HeadNormForward                 once, before the first slice: xn = RMSNorm(x), inverse_rms
//   HeadSliceForward                each slice: logits of the slice -> statistics
//   HeadFinish                      once: loss sum; statistics.maximum becomes the log-sum-exp
//   HeadSliceBackward               each slice: d(logits) -> d(xn) added up over slices, and the slice's dW
//   HeadNormBackward                once, after the last slice: d of the last layer's output, and d(norm weight)
//
// Logits exist for HeadChunkRows rows of one slice at a time, in `scratch`; or, where `logits` is given, for all rows
// of the slice, and backward takes them from there instead of computing them again. Same chunks, same bits.
//
//   Memory      the caller gives every pointer, device memory, 64-byte aligned.
//   Sizes       functions of the model and of rows alone.
#pragma once

#include <cstdint>

#include "gpu/operations.h"
#include "model/batch_view.h"
#include "model/config.h"

namespace tidemill::model {

// A slice of a vocabulary matrix: rows first_id .. first_id + weights.rows - 1 of it, [slice rows, hidden].
struct VocabularySlice {
  gpu::Weights weights;
  int32_t first_id = 0;
  bool first = false;  // of the pass: starts sums that later slices add to
};

// Per row, kept between the passes: [rows] each.
struct HeadStatistics {
  float* maximum = nullptr;  // after HeadFinish: log-sum-exp
  float* sum = nullptr;
  float* target_logit = nullptr;  // after HeadFinish: the row's loss, 0 where none counts
};

// x[r] = the embedding's row of ids[r], for the ids of the slice; other rows are left alone.
void EmbedSliceForward(gpu::Operations& ops, const VocabularySlice& slice, const BatchView& batch, float* x);
// The slice's gradient; slice.weights gives the shape only.
void EmbedSliceBackward(gpu::Operations& ops, const VocabularySlice& slice, const BatchView& batch, const float* dx,
                        gpu::Fold fold);

int64_t HeadChunkRows(int64_t rows);
// For HeadSliceForward and HeadSliceBackward without kept logits, slices of at most VocabularySliceRows(config).
int64_t HeadScratchFloats(const ModelConfig& config, int64_t rows);
// What keeping the logits of one slice takes: rows * slice_rows, rounded up to 16.
int64_t HeadLogitsFloats(int64_t rows, int64_t slice_rows);

// xn: [rows, hidden]; inverse_rms: [rows]. The norm's weight is [hidden].
void HeadNormForward(gpu::Operations& ops, const ModelConfig& config, const gpu::Weights& norm, const float* x,
                     float* xn, float* inverse_rms, int64_t rows);

// `logits` null: they pass through scratch. Else they are left there, [rows, slice rows], and scratch may be null.
void HeadSliceForward(gpu::Operations& ops, const VocabularySlice& slice, const BatchView& batch, const float* xn,
                      const HeadStatistics& statistics, float* logits, float* scratch);

void HeadFinish(gpu::Operations& ops, const BatchView& batch, const HeadStatistics& statistics, double* loss_sum);

// scale: of the loss, 1 / supervised tokens of the whole window. dxn (null: not wanted) is overwritten by the first
// slice and added to by the others. `logits`: what HeadSliceForward left there, destroyed; or null.
void HeadSliceBackward(gpu::Operations& ops, const VocabularySlice& slice, const BatchView& batch, const float* xn,
                       const HeadStatistics& statistics, float scale, float* dxn, gpu::Fold fold, float* logits,
                       float* scratch);

// d (overwritten; may be dxn): gradient by x.
void HeadNormBackward(gpu::Operations& ops, const ModelConfig& config, const gpu::Weights& norm, const float* x,
                      const float* inverse_rms, const float* dxn, float* d, gpu::Fold fold, int64_t rows);

// Generation: logits[rows, slice rows] of the rows given.
void HeadSliceLogits(gpu::Operations& ops, const VocabularySlice& slice, const float* xn, float* logits, int64_t rows);

}  // namespace tidemill::model
