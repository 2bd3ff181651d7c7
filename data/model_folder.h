// The weights of a Hugging Face folder: model.safetensors, or shards and model.safetensors.index.json. When both are
// there the single file is the model, as in transformers.
//
//   Ownership   owns the open shards; FolderTensor borrows from the folder and lives as long as it does, also when
//               the folder is moved.
//   Threads     const methods may be called from many threads at once.
//   Errors      kInvalidArgument names the missing or hostile file, or the tensor that index and shards differ about.
//   Limits      one descriptor per shard; no tensor's bytes are kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/safetensors_reader.h"

namespace tidemill::data {

struct FolderTensor {
  const SafetensorsReader* file = nullptr;
  const TensorEntry* entry = nullptr;
};

class ModelFolder {
 public:
  static Result<ModelFolder> Open(const std::string& directory);

  const std::string& directory() const { return directory_; }
  // Shards by name, tensors in the order of their bytes.
  const std::vector<FolderTensor>& tensors() const { return tensors_; }
  // nullptr when there is none of that name.
  const FolderTensor* Find(std::string_view name) const;
  // As Find, with an error that names tensor and folder.
  Result<FolderTensor> Get(std::string_view name) const;

  uint64_t total_bytes() const;

 private:
  Status Index(const std::unordered_map<std::string, std::string>* shard_of);

  std::string directory_;
  std::vector<SafetensorsReader> files_;
  std::vector<FolderTensor> tensors_;
  std::unordered_map<std::string_view, size_t> by_name_;
};

// Whether two tensors have the same shape and the same values as fp32, bit for bit: tells a copied tied head from a
// different one. Reads both once, in pieces.
Result<bool> SameValues(const FolderTensor& a, const FolderTensor& b);

}  // namespace tidemill::data
