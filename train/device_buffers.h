// What a run keeps on the device beside its pages: workspace, scratch, the batches of a step, rotary tables and the
// numbers that come back. Laid out once, before the first step; counted in the plan as fixed bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tidemill::train {

struct BufferShape {
  uint64_t workspace_bytes = 0;              // of the compute stream
  uint64_t scratch_floats = 0;               // of the largest operation
  uint64_t rows = 0, sequences = 0;          // of the largest micro-batch
  uint64_t micro_batches = 0;                // of a step
  uint64_t positions = 0, rotary_pairs = 0;  // of the tables: positions x head_dim / 2
  uint64_t square_sums = 0;                  // one for each trained segment
  uint64_t logits = 0;                       // of a row; generation only
};

struct MicroBatchBuffers {
  int32_t *ids = nullptr, *positions = nullptr, *targets = nullptr;  // [rows]
  int32_t *query_offsets = nullptr, *key_offsets = nullptr;          // [sequences + 1]
};

class DeviceBuffers {
 public:
  DeviceBuffers(std::byte* start, const BufferShape& shape);
  static uint64_t Bytes(const BufferShape& shape) { return DeviceBuffers(nullptr, shape).bytes_; }

  std::span<std::byte> workspace() const { return {At<std::byte>(workspace_), shape_.workspace_bytes}; }
  float* scratch() const { return At<float>(scratch_); }
  float* cosines() const { return At<float>(cosines_); }
  float* sines() const { return At<float>(sines_); }
  double* square_sums() const { return At<double>(square_sums_); }
  double* loss_sums() const { return At<double>(loss_sums_); }  // [micro-batches], right behind the square sums
  float* logits() const { return At<float>(logits_); }
  MicroBatchBuffers micro_batch(uint64_t index) const;
  const BufferShape& shape() const { return shape_; }

 private:
  template <typename T>
  T* At(uint64_t offset) const {
    return reinterpret_cast<T*>(start_ + offset);
  }
  uint64_t Take(uint64_t bytes);

  std::byte* const start_;
  const BufferShape shape_;
  uint64_t bytes_ = 0;
  uint64_t workspace_, scratch_, cosines_, sines_, square_sums_, loss_sums_, logits_, batches_;
  uint64_t batch_bytes_;
};

}  // namespace tidemill::train
