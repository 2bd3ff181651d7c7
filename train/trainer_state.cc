#include "train/trainer_state.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "data/json_file.h"
#include "io/crc32c.h"

namespace tidemill::train {
namespace {

using nlohmann::ordered_json;

constexpr int64_t kMostSteps = int64_t{1} << 62;

template <typename T>
Status Take(const ordered_json& json, const char* key, const std::string& path, T& value) {
  const auto found = json.find(key);
  const bool fits = found != json.end() && (std::is_same_v<T, std::string> ? found->is_string()
                                            : std::is_same_v<T, bool>      ? found->is_boolean()
                                            : std::is_integral_v<T>        ? found->is_number_integer()
                                                                           : found->is_number());
  if (!fits)
    return Fail(ErrorCode::kInvalidArgument, "key '" + std::string(key) + "' is missing or of another type (" + path +
                                                 "): the checkpoint is not Tidemill's");
  value = found->get<T>();
  return Ok();
}

std::string Hex(uint32_t value) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%08x", value);
  return text.data();
}

// Of the file's length and of up to 1 MiB from each end.
Result<uint32_t> DigestOf(const std::string& path, uint32_t before) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file)
    return Fail(ErrorCode::kInvalidArgument,
                "cannot read the file (" + path + "): check that it exists and may be read");
  const auto bytes = static_cast<uint64_t>(file.tellg());
  std::vector<char> part(std::min<uint64_t>(bytes, 1 << 20));
  uint32_t digest = io::Crc32c(std::as_bytes(std::span(&bytes, 1)), before);
  for (const uint64_t offset : {uint64_t{0}, bytes - part.size()}) {
    file.seekg(static_cast<std::streamoff>(offset));
    file.read(part.data(), static_cast<std::streamsize>(part.size()));
    digest = io::Crc32c(std::as_bytes(std::span(part)), digest);
  }
  return digest;
}

}  // namespace

Result<std::string> ModelDigest(const std::string& model_directory) {
  TM_ASSIGN_OR_RETURN(const uint32_t digest, DigestOf(model_directory + "/config.json", 0));
  return Hex(digest);
}

Result<std::string> DataDigest(const std::vector<std::string>& files) {
  uint32_t digest = 0;
  for (const std::string& path : files) {
    TM_ASSIGN_OR_RETURN(digest, DigestOf(path, digest));
  }
  return Hex(digest);
}

std::string FormatTrainerState(const TrainerState& state) {
  const ordered_json json{{"global_step", state.global_step},
                          {"applied_steps", state.applied_steps},
                          {"epoch", state.epoch},
                          {"max_steps", state.max_steps},
                          {"seed", state.seed},
                          {"shuffle", state.shuffle},
                          {"dtype", state.dtype},
                          {"data_digest", state.data_digest},
                          {"model_digest", state.model_digest},
                          {"train_batch_size", state.train_batch_size},
                          {"gradient_accumulation_steps", state.accumulation_steps},
                          {"state_dtype", state.state_dtype},
                          {"master_dtype", state.master_dtype}};
  return json.dump(2) + "\n";
}

Result<TrainerState> ReadTrainerState(const std::string& path) {
  const auto text = data::ReadJsonFile(path);
  if (!text.has_value())
    return Fail(ErrorCode::kInvalidArgument, "this is no whole checkpoint, " + text.error().message);
  return ParseTrainerState(*text, path);
}

Result<TrainerState> ParseTrainerState(const std::string& text, const std::string& path) {
  const auto json = ordered_json::parse(text, nullptr, false);
  if (!json.is_object())
    return Fail(ErrorCode::kInvalidArgument, "not a JSON object (" + path + "): this is no whole checkpoint");
  TrainerState state;
  TM_RETURN_IF_ERROR(Take(json, "global_step", path, state.global_step));
  TM_RETURN_IF_ERROR(Take(json, "applied_steps", path, state.applied_steps));
  TM_RETURN_IF_ERROR(Take(json, "epoch", path, state.epoch));
  TM_RETURN_IF_ERROR(Take(json, "max_steps", path, state.max_steps));
  TM_RETURN_IF_ERROR(Take(json, "seed", path, state.seed));
  TM_RETURN_IF_ERROR(Take(json, "shuffle", path, state.shuffle));
  TM_RETURN_IF_ERROR(Take(json, "dtype", path, state.dtype));
  TM_RETURN_IF_ERROR(Take(json, "data_digest", path, state.data_digest));
  TM_RETURN_IF_ERROR(Take(json, "model_digest", path, state.model_digest));
  TM_RETURN_IF_ERROR(Take(json, "train_batch_size", path, state.train_batch_size));
  TM_RETURN_IF_ERROR(Take(json, "gradient_accumulation_steps", path, state.accumulation_steps));
  TM_RETURN_IF_ERROR(Take(json, "state_dtype", path, state.state_dtype));
  if (json.contains("master_dtype")) TM_RETURN_IF_ERROR(Take(json, "master_dtype", path, state.master_dtype));
  if (state.global_step < 0 || state.global_step > kMostSteps || state.applied_steps < 0 ||
      state.applied_steps > state.global_step || state.epoch < 0)
    return Fail(ErrorCode::kInvalidArgument,
                "'global_step', 'applied_steps' or 'epoch' is beyond what a run can reach (" + path +
                    "): the checkpoint is not Tidemill's");
  return state;
}

}  // namespace tidemill::train
