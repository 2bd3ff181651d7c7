// A Hugging Face folder as the program sees it: what its config.json says, and which tensors that makes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/model_folder.h"
#include "model/config.h"
#include "swap_scheduler/page_layout.h"

namespace tidemill::train {

struct ModelFiles {
  std::string directory;
  model::ModelConfig config;
  swap_scheduler::ModelTensors tensors;
  std::optional<data::ModelFolder> folder;  // nothing if only the configuration was asked for
};

// Reads config.json, marks the tensors whose name one of the `freeze` patterns is found in, and, with `with_weights`,
// opens the weights and checks every tensor. kInvalidArgument names file, key, tensor or pattern.
Result<ModelFiles> OpenModel(const std::string& directory, const std::vector<std::string>& freeze, bool with_weights);

// Ids that end a text: generation_config.json's, else config.json's; a number or a list.
Result<std::vector<int32_t>> EndOfTextIds(const ModelFiles& files);

uint64_t CountParameters(const swap_scheduler::ModelTensors& tensors, bool only_trained);

}  // namespace tidemill::train
