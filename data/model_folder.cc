#include "data/model_folder.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

namespace tidemill::data {
namespace {

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
using ShardOf = std::unordered_map<std::string, std::string>;

std::string In(const std::string& directory, const std::string& name) {
  return (std::filesystem::path(directory) / name).string();
}

tl::unexpected<Error> Refuse(const std::string& what, const std::string& where) {
  return Fail(ErrorCode::kInvalidArgument, what + " ('" + where + "'): the model is damaged, fetch or save it again");
}

// A shard lies in the folder itself: an index may not name any other file of the machine.
bool IsPlainName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

Status ReadWeightMap(simdjson::dom::object map, const std::string& path, ShardOf& shard_of) {
  for (const auto& [tensor, value] : map) {
    std::string_view shard;
    const std::string name(tensor);
    if (value.get_string().get(shard) != simdjson::SUCCESS)
      return Refuse("tensor '" + name + "' has no shard name", path);
    if (!IsPlainName(shard))
      return Refuse(
          "tensor '" + name + "' has the shard '" + std::string(shard) + "', which is not a file of the folder", path);
    if (!shard_of.emplace(name, shard).second) return Refuse("the index has the tensor '" + name + "' twice", path);
  }
  return Ok();
}

Result<ShardOf> ReadIndex(const std::string& path) {
  TM_ASSIGN_OR_RETURN(const std::string json, ReadTextFile(path, kMaxHeaderBytes));
  simdjson::dom::parser parser;
  simdjson::dom::object root;
  if (const auto error = parser.parse(json).get_object().get(root); error != simdjson::SUCCESS)
    return Refuse(std::string("the index is not valid JSON: ") + simdjson::error_message(error), path);
  ShardOf shard_of;
  bool found = false;
  for (const auto& [key, value] : root) {
    if (key != "weight_map") continue;  // metadata.total_size is wrong in published models: nothing depends on it
    simdjson::dom::object map;
    if (std::exchange(found, true)) return Refuse("the index has the key 'weight_map' twice", path);
    if (value.get_object().get(map) != simdjson::SUCCESS) return Refuse("weight_map is not an object", path);
    TM_RETURN_IF_ERROR(ReadWeightMap(map, path, shard_of));
  }
  if (!found) return Refuse("the index has no weight_map", path);
  return shard_of;
}

}  // namespace

Result<ModelFolder> ModelFolder::Open(const std::string& directory) {
  ModelFolder folder;
  folder.directory_ = directory;
  std::error_code ignored;
  if (std::filesystem::exists(In(directory, kSingle), ignored)) {
    TM_ASSIGN_OR_RETURN(SafetensorsReader file, SafetensorsReader::Open(In(directory, kSingle)));
    folder.files_.push_back(std::move(file));
    TM_RETURN_IF_ERROR(folder.Index(nullptr));
    return folder;
  }
  if (!std::filesystem::exists(In(directory, kIndex), ignored))
    return Fail(ErrorCode::kInvalidArgument, "no " + std::string(kSingle) + " and no " + kIndex + " ('" + directory +
                                                 "'): give a Hugging Face folder with safetensors weights");
  TM_ASSIGN_OR_RETURN(const ShardOf shard_of, ReadIndex(In(directory, kIndex)));
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : shard_of) shards.insert(shard);
  for (const std::string& shard : shards) {
    if (!std::filesystem::exists(In(directory, shard), ignored))
      return Refuse("the shard '" + shard + "' of the index is missing", directory);
    TM_ASSIGN_OR_RETURN(SafetensorsReader file, SafetensorsReader::Open(In(directory, shard)));
    folder.files_.push_back(std::move(file));
  }
  TM_RETURN_IF_ERROR(folder.Index(&shard_of));
  return folder;
}

// Fills tensors_ and by_name_; index and shards must name the same tensors, each once.
Status ModelFolder::Index(const ShardOf* shard_of) {
  for (const SafetensorsReader& file : files_) {
    const std::string shard = std::filesystem::path(file.path()).filename();
    for (const TensorEntry& entry : file.tensors()) {
      const auto [found, is_new] = by_name_.emplace(entry.name, tensors_.size());
      if (!is_new)
        return Refuse("tensor '" + entry.name + "' is in two shards, '" +
                          std::filesystem::path(tensors_[found->second].file->path()).filename().string() + "' and '" +
                          shard + "'",
                      directory_);
      if (shard_of != nullptr && !shard_of->contains(entry.name))
        return Refuse("tensor '" + entry.name + "' is in the shard '" + shard + "' but not in the index", directory_);
      tensors_.push_back({&file, &entry});
    }
  }
  if (shard_of == nullptr) return Ok();
  for (const auto& [name, shard] : *shard_of) {
    const FolderTensor* tensor = Find(name);
    if (tensor == nullptr || std::filesystem::path(tensor->file->path()).filename() != shard)
      return Refuse("tensor '" + name + "' is not in the shard '" + shard + "' that the index names", directory_);
  }
  return Ok();
}

const FolderTensor* ModelFolder::Find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

Result<FolderTensor> ModelFolder::Get(std::string_view name) const {
  if (const FolderTensor* tensor = Find(name)) return *tensor;
  return Refuse("tensor '" + std::string(name) + "' is missing", directory_);
}

uint64_t ModelFolder::total_bytes() const {
  uint64_t bytes = 0;
  for (const FolderTensor& tensor : tensors_) bytes += tensor.entry->bytes;
  return bytes;
}

Result<bool> SameValues(const FolderTensor& a, const FolderTensor& b) {
  if (a.entry->shape != b.entry->shape) return false;
  constexpr uint64_t kPiece = 64 * 1024;
  std::vector<float> left(kPiece), right(kPiece);
  for (uint64_t at = 0; at < a.entry->elements; at += kPiece) {
    const size_t count = std::min(kPiece, a.entry->elements - at);
    TM_RETURN_IF_ERROR(a.file->ReadAsFloat(*a.entry, at, std::span(left).first(count)));
    TM_RETURN_IF_ERROR(b.file->ReadAsFloat(*b.entry, at, std::span(right).first(count)));
    if (std::memcmp(left.data(), right.data(), count * sizeof(float)) != 0) return false;
  }
  return true;
}

}  // namespace tidemill::data
