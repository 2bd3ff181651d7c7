#include "train/device_buffers.h"

#include "base/byte_size.h"

namespace tidemill::train {
namespace {

constexpr uint64_t kAlignment = 256;
uint64_t RowsBytes(const BufferShape& shape) { return AlignUp(shape.rows * sizeof(int32_t), kAlignment); }
uint64_t OffsetsBytes(const BufferShape& shape) { return AlignUp((shape.sequences + 1) * sizeof(int32_t), kAlignment); }

}  // namespace

DeviceBuffers::DeviceBuffers(std::byte* start, const BufferShape& shape) : start_(start), shape_(shape) {
  workspace_ = Take(shape.workspace_bytes);
  scratch_ = Take(shape.scratch_floats * sizeof(float));
  cosines_ = Take(shape.positions * shape.rotary_pairs * sizeof(float));
  sines_ = Take(shape.positions * shape.rotary_pairs * sizeof(float));
  square_sums_ = Take((shape.square_sums + shape.micro_batches) * sizeof(double));
  loss_sums_ = square_sums_ + shape.square_sums * sizeof(double);
  logits_ = Take(shape.logits * sizeof(float));
  batch_bytes_ = 3 * RowsBytes(shape) + 2 * OffsetsBytes(shape);
  batches_ = Take(shape.micro_batches * batch_bytes_);
  bytes_ = AlignUp(bytes_, 4096);
}

uint64_t DeviceBuffers::Take(uint64_t bytes) {
  const uint64_t offset = bytes_;
  bytes_ = AlignUp(bytes_ + bytes, kAlignment);
  return offset;
}

MicroBatchBuffers DeviceBuffers::micro_batch(uint64_t index) const {
  const uint64_t start = batches_ + index * batch_bytes_;
  const uint64_t rows = RowsBytes(shape_), offsets = OffsetsBytes(shape_);
  return {At<int32_t>(start), At<int32_t>(start + rows), At<int32_t>(start + 2 * rows), At<int32_t>(start + 3 * rows),
          At<int32_t>(start + 3 * rows + offsets)};
}

}  // namespace tidemill::train
