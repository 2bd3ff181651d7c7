#include "train/model_files.h"

#include <nlohmann/json.hpp>
#include <regex>

#include "data/json_file.h"
#include "model/tensors.h"
#include "train/weights.h"

namespace tidemill::train {
namespace {

using swap_scheduler::ModelTensors;
using swap_scheduler::TensorShape;

constexpr size_t kMaxPatternBytes = 2000;
// libstdc++'s matcher that follows all alternatives side by side: a pattern such as (a+)+$, which would make the other
// one backtrack for ever, takes its turn. Back references are refused.
constexpr auto kGrammar = std::regex::ECMAScript | std::regex_constants::__polynomial;

class FreezeMask {
 public:
  static Result<FreezeMask> Compile(const std::vector<std::string>& patterns) {
    FreezeMask mask;
    for (const std::string& pattern : patterns) {
      if (pattern.size() > kMaxPatternBytes)  // the library compiles by recursion
        return Fail(ErrorCode::kInvalidArgument, "a regular expression of " + std::to_string(pattern.size()) +
                                                     " bytes is too long (--freeze): give several of at most " +
                                                     std::to_string(kMaxPatternBytes));
      try {
        mask.patterns_.emplace_back(pattern, kGrammar);
      } catch (const std::regex_error& error) {
        return Fail(ErrorCode::kInvalidArgument,
                    "'" + pattern + "' is not a regular expression (--freeze): " + error.what());
      }
      mask.hits_.push_back(false);
    }
    return mask;
  }

  bool Freezes(const std::string& name) {
    bool frozen = false;
    for (size_t i = 0; i < patterns_.size(); ++i) {
      if (!std::regex_search(name, patterns_[i])) continue;
      frozen = true;
      hits_[i] = true;
    }
    return frozen;
  }

  // A pattern that finds nothing is a spelling mistake.
  Status CheckAllUsed(const std::vector<std::string>& patterns) const {
    for (size_t i = 0; i < patterns.size(); ++i) {
      if (!hits_[i])
        return Fail(ErrorCode::kInvalidArgument,
                    "'" + patterns[i] + "' is found in no tensor's name (--freeze): see tidemill info --model");
    }
    return Ok();
  }

 private:
  std::vector<std::regex> patterns_;
  std::vector<bool> hits_;
};

ModelTensors TensorsOf(const model::ModelConfig& config, FreezeMask& mask) {
  auto shape = [&](const model::TensorInfo& info) {
    return TensorShape{info.name, static_cast<uint64_t>(info.rows), static_cast<uint64_t>(info.cols),
                       !mask.Freezes(info.name), info.matrix};
  };
  ModelTensors tensors;
  tensors.embedding = shape(model::EmbeddingTensor(config));
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    auto& shapes = tensors.layers.emplace_back();
    for (const model::TensorInfo& info : model::LayerTensors(config, layer)) shapes.push_back(shape(info));
  }
  tensors.final_norm = shape(model::FinalNormTensor(config));
  if (!config.tied) tensors.head = shape(model::HeadTensor(config));
  return tensors;
}

std::vector<int32_t> IdsOf(const nlohmann::json& value) {
  std::vector<int32_t> ids;
  if (value.is_number_integer()) ids.push_back(value.get<int32_t>());
  for (const auto& id : value.is_array() ? value : nlohmann::json::array()) {
    if (id.is_number_integer()) ids.push_back(id.get<int32_t>());
  }
  return ids;
}

}  // namespace

Result<ModelFiles> OpenModel(const std::string& directory, const std::vector<std::string>& freeze, bool with_weights) {
  ModelFiles files;
  files.directory = directory;
  const std::string path = directory + "/config.json";
  TM_ASSIGN_OR_RETURN(const std::string text, data::ReadJsonFile(path));
  TM_ASSIGN_OR_RETURN(files.config, model::ParseModelConfig(text, path));
  TM_ASSIGN_OR_RETURN(FreezeMask mask, FreezeMask::Compile(freeze));
  files.tensors = TensorsOf(files.config, mask);
  TM_RETURN_IF_ERROR(mask.CheckAllUsed(freeze));
  if (CountParameters(files.tensors, true) == 0)
    return Fail(ErrorCode::kInvalidArgument, "every tensor is frozen (--freeze): leave something to train");
  if (!with_weights) return files;
  TM_ASSIGN_OR_RETURN(files.folder, data::ModelFolder::Open(directory));
  TM_RETURN_IF_ERROR(CheckTensors(*files.folder, files.tensors));
  return files;
}

Result<std::vector<int32_t>> EndOfTextIds(const ModelFiles& files) {
  const std::string path = files.directory + "/generation_config.json";
  if (!data::FileIsThere(path)) return files.config.eos_ids;
  TM_ASSIGN_OR_RETURN(const std::string text, data::ReadJsonFile(path));
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return Fail(ErrorCode::kInvalidArgument, "not a JSON object (" + path + ")");
  if (!json.contains("eos_token_id")) return files.config.eos_ids;
  return IdsOf(json["eos_token_id"]);
}

uint64_t CountParameters(const ModelTensors& tensors, bool only_trained) {
  uint64_t count = 0;
  auto add = [&](const TensorShape& tensor) { count += only_trained && !tensor.trainable ? 0 : tensor.elements(); };
  add(tensors.embedding);
  for (const auto& layer : tensors.layers) {
    for (const TensorShape& tensor : layer) add(tensor);
  }
  add(tensors.final_norm);
  if (tensors.head.rows > 0) add(tensors.head);
  return count;
}

}  // namespace tidemill::train
