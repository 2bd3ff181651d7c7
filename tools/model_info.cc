#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "data/json_file.h"
#include "data/model_folder.h"
#include "tools/info.h"

namespace tidemill::tools {
namespace {

using nlohmann::ordered_json;

Result<ordered_json> ReadObject(const std::string& path) {
  TM_ASSIGN_OR_RETURN(const std::string text, data::ReadJsonFile(path));
  const ordered_json object = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object())
    return Fail(ErrorCode::kInvalidArgument, "not a readable JSON object (" + path + "): is this the right folder?");
  return object;
}

struct Sum {
  uint64_t tensors = 0, parameters = 0, bytes = 0;
  void Add(const data::TensorEntry& tensor) {
    ++tensors;
    parameters += tensor.elements;
    bytes += tensor.bytes;
  }
};

}  // namespace

Result<ordered_json> ModelInfo(const std::string& folder) {
  TM_ASSIGN_OR_RETURN(const ordered_json config, ReadObject(folder + "/config.json"));
  TM_ASSIGN_OR_RETURN(const data::ModelFolder model, data::ModelFolder::Open(folder));
  const auto tied = config.find("tie_word_embeddings");
  const bool is_tied = tied != config.end() && *tied == true;
  Sum all;
  std::map<std::string, Sum> by_dtype;
  for (const data::FolderTensor& tensor : model.tensors()) {
    if (is_tied && tensor.entry->name == "lm_head.weight") continue;
    all.Add(*tensor.entry);
    by_dtype[std::string(SafetensorsName(tensor.entry->dtype))].Add(*tensor.entry);
  }
  ordered_json info;
  info["model"] = folder;
  const auto architectures = config.find("architectures");
  info["architecture"] = nullptr;
  if (architectures != config.end() && architectures->is_array() && !architectures->empty())
    info["architecture"] = architectures->front();
  info["tied_head"] = is_tied;
  info["parameters"] = all.parameters;
  info["tensors"] = all.tensors;
  info["bytes"] = all.bytes;
  for (const auto& [dtype, sum] : by_dtype)
    info["dtypes"][dtype] = {{"tensors", sum.tensors}, {"parameters", sum.parameters}, {"bytes", sum.bytes}};
  return info;
}

Result<ordered_json> CheckpointInfo(const std::string& folder) {
  TM_ASSIGN_OR_RETURN(const ordered_json state, ReadObject(folder + "/trainer_state.json"));
  ordered_json info;
  info["checkpoint"] = folder;
  for (const char* key :
       {"global_step", "epoch", "max_steps", "num_train_epochs", "dtype", "state_dtype", "master_dtype"}) {
    if (state.contains(key)) info[key == std::string("global_step") ? "step" : key] = state[key];
  }
  TM_ASSIGN_OR_RETURN(const ordered_json model, ModelInfo(folder));
  info.update(model);
  return info;
}

}  // namespace tidemill::tools
