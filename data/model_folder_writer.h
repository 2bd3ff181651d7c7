// Writes the weights of a Hugging Face folder as a stream: model.safetensors when they fit one shard, else
// model-00001-of-0000N.safetensors and model.safetensors.index.json.
//
// Shards are filled in the order of the tensors, as huggingface_hub does: a shard is closed when the next tensor would
// make it larger than the limit; a tensor larger than the limit has a shard of its own.
//
//   Ownership   owns every *.partial file until Commit(); destroyed without it, the folder is as it was before.
//   Threads     one thread at a time.
//   Durability  shards reach the disk under temporary names; Commit() renames them, the index last, and then removes
//               weights that an earlier save left under other names, so that no reader finds two models.
//   Errors      as SafetensorsWriter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/safetensors_writer.h"

namespace tidemill::data {

// Which tensors go into which shard; one shard at least. `max_shard_bytes` counts tensor bytes.
std::vector<std::vector<TensorSpec>> PlanShards(const std::vector<TensorSpec>& tensors, uint64_t max_shard_bytes);

class ModelFolderWriter {
 public:
  // The directory is made if it is missing. A limit of 0 is refused.
  static Result<ModelFolderWriter> Create(const std::string& directory, const std::vector<TensorSpec>& tensors,
                                          uint64_t max_shard_bytes, const Metadata& extra = {});

  // As in SafetensorsWriter: the next bytes or elements of current(), never beyond its end.
  Status Append(std::span<const std::byte> bytes);
  Status AppendFloats(std::span<const float> values);
  // nullptr once every tensor is complete.
  const TensorSpec* current() const;

  // Demands that every tensor is complete.
  Status Commit();

  uint64_t total_bytes() const { return total_bytes_; }
  const std::vector<std::string>& file_names() const { return names_; }

 private:
  ModelFolderWriter() = default;
  Status OpenNextShards();
  std::string IndexText() const;

  std::string directory_;
  Metadata extra_;
  std::vector<std::vector<TensorSpec>> shards_;
  std::vector<std::string> names_;          // one per shard
  std::vector<SafetensorsWriter> writers_;  // sealed, but for the last
  uint64_t total_bytes_ = 0;
};

}  // namespace tidemill::data
