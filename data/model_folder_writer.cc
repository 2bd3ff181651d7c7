#include "data/model_folder_writer.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "data/json_text.h"
#include "data/output_directory.h"

namespace tidemill::data {
namespace {

namespace fs = std::filesystem;
constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

std::string ShardName(size_t index, size_t count) {
  if (count == 1) return kSingle;
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "model-%05zu-of-%05zu.safetensors", index + 1, count);
  return name.data();
}

// "model.safetensors", "model-00002-of-00003.safetensors", and either with ".partial".
bool IsWeightName(std::string_view name) {
  if (name.ends_with(".partial")) name.remove_suffix(8);
  if (name == kSingle) return true;
  return name.starts_with("model-") && name.ends_with(".safetensors") && name.find("-of-") != std::string_view::npos;
}

// What an earlier save, whole or killed, left under other names. The single file goes first: it has precedence.
void RemoveStale(const std::string& directory, const std::vector<std::string>& keep, bool keep_index) {
  std::vector<fs::path> stale;
  std::error_code ignored;
  for (fs::directory_iterator it(directory, ignored), end; it != end; it.increment(ignored)) {
    const std::string name = it->path().filename();
    if (IsWeightName(name) && std::find(keep.begin(), keep.end(), name) == keep.end()) stale.push_back(it->path());
  }
  if (std::find(keep.begin(), keep.end(), kSingle) == keep.end()) fs::remove(fs::path(directory) / kSingle, ignored);
  if (!keep_index) fs::remove(fs::path(directory) / kIndex, ignored);
  for (const fs::path& path : stale) fs::remove(path, ignored);
}

}  // namespace

std::vector<std::vector<TensorSpec>> PlanShards(const std::vector<TensorSpec>& tensors, uint64_t max_shard_bytes) {
  std::vector<std::vector<TensorSpec>> shards(1);
  uint64_t filled = 0;
  for (const TensorSpec& tensor : tensors) {
    const uint64_t bytes = BytesOf(tensor);
    if (!shards.back().empty() && (filled > max_shard_bytes || bytes > max_shard_bytes - filled)) {
      shards.emplace_back();
      filled = 0;
    }
    shards.back().push_back(tensor);
    filled += bytes;
  }
  return shards;
}

Result<ModelFolderWriter> ModelFolderWriter::Create(const std::string& directory,
                                                    const std::vector<TensorSpec>& tensors, uint64_t max_shard_bytes,
                                                    const Metadata& extra) {
  if (max_shard_bytes == 0)
    return Fail(ErrorCode::kInvalidArgument, "a shard of 0 bytes holds nothing (--max-shard-size): give a larger size");
  std::unordered_set<std::string_view> seen;  // a shard's writer sees its own tensors only
  for (const TensorSpec& tensor : tensors) {
    if (!seen.insert(tensor.name).second)
      return Fail(ErrorCode::kInvalidArgument,
                  "tensor '" + tensor.name + "' is there twice ('" + directory + "'): it cannot be saved");
  }
  TM_RETURN_IF_ERROR(MakeDirectory(directory));
  ModelFolderWriter writer;
  writer.directory_ = directory;
  writer.extra_ = extra;
  writer.shards_ = PlanShards(tensors, max_shard_bytes);
  for (size_t i = 0; i < writer.shards_.size(); ++i) writer.names_.push_back(ShardName(i, writer.shards_.size()));
  for (const TensorSpec& tensor : tensors) writer.total_bytes_ += BytesOf(tensor);
  TM_RETURN_IF_ERROR(writer.OpenNextShards());
  return writer;
}

// Opens shards until one takes bytes or all are open; the one before is flushed and closed, so descriptors do not add
// up.
Status ModelFolderWriter::OpenNextShards() {
  while (current() == nullptr && writers_.size() < shards_.size()) {
    if (!writers_.empty()) TM_RETURN_IF_ERROR(writers_.back().Seal());
    const size_t next = writers_.size();
    TM_ASSIGN_OR_RETURN(
        SafetensorsWriter writer,
        SafetensorsWriter::Create((fs::path(directory_) / names_[next]).string(), shards_[next], extra_));
    writers_.push_back(std::move(writer));
  }
  return Ok();
}

const TensorSpec* ModelFolderWriter::current() const { return writers_.empty() ? nullptr : writers_.back().current(); }

Status ModelFolderWriter::Append(std::span<const std::byte> bytes) {
  if (bytes.empty()) return Ok();
  TM_CHECK(current() != nullptr);
  TM_RETURN_IF_ERROR(writers_.back().Append(bytes));
  return OpenNextShards();
}

Status ModelFolderWriter::AppendFloats(std::span<const float> values) {
  if (values.empty()) return Ok();
  TM_CHECK(current() != nullptr);
  TM_RETURN_IF_ERROR(writers_.back().AppendFloats(values));
  return OpenNextShards();
}

std::string ModelFolderWriter::IndexText() const {
  JsonWriter json;
  json.BeginObject().Key("metadata").BeginObject();
  json.Integer("total_size", static_cast<int64_t>(total_bytes_)).EndObject();
  json.Key("weight_map").BeginObject();
  for (size_t i = 0; i < shards_.size(); ++i) {
    for (const TensorSpec& tensor : shards_[i]) json.Text(tensor.name, names_[i]);
  }
  json.EndObject().EndObject();
  return json.Finish();
}

Status ModelFolderWriter::Commit() {
  TM_CHECK(current() == nullptr && writers_.size() == shards_.size());
  // Everything is on the disk before the first name changes: a full disk is found while the old model is whole.
  TM_RETURN_IF_ERROR(writers_.back().Seal());
  std::optional<AtomicFile> index;
  if (shards_.size() > 1) {
    TM_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create((fs::path(directory_) / kIndex).string()));
    TM_RETURN_IF_ERROR(file.Append(IndexText()));
    TM_RETURN_IF_ERROR(file.Seal());
    index.emplace(std::move(file));
  }
  for (SafetensorsWriter& writer : writers_) TM_RETURN_IF_ERROR(writer.Commit());
  if (index) TM_RETURN_IF_ERROR(index->Commit());
  RemoveStale(directory_, names_, index.has_value());
  return Ok();
}

}  // namespace tidemill::data
