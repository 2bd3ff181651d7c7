// What stands beside the weights in a Hugging Face folder: configuration, tokenizer files, chat template, model card.
//
//   Limits   regular files of at most 64 MiB in the folder itself. Weights in any format, hidden and temporary files
//            and the records of an earlier run (metrics.jsonl, trainer_state.json, train_results.json) are none.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"

namespace tidemill::data {

// The names of the companions in `directory`, sorted. Links are followed.
Result<std::vector<std::string>> CompanionFiles(const std::string& directory);

// Copies them byte for byte, each written beside and renamed. With `dtype`, given when the weights are saved in another
// one than the source has, config.json says so (see ConfigWithDType). The output directory is made if missing; when it
// is the source only config.json may change.
Status CopyCompanionFiles(const std::string& source, const std::string& output, std::optional<DType> dtype);

// config.json with the value of `torch_dtype` or `dtype`, whichever is there, changed; every other byte stays, unknown
// keys and their order included. Text that has neither key, or has the dtype already, comes back as it is.
Result<std::string> ConfigWithDType(const std::string& config_json, DType dtype);

}  // namespace tidemill::data
