// --lr-scheduler-type and --lr-scheduler-kwargs as text.
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/json_file.h"
#include "train/config/flag_spec.h"
#include "train/schedule.h"

namespace tidemill::train {
namespace {

using nlohmann::json;

tl::unexpected<Error> Refuse(std::string_view key, std::string_view problem) {
  return Fail(ErrorCode::kInvalidArgument,
              "$." + std::string(key) + " (--lr-scheduler-kwargs) " + std::string(problem));
}

Status ReadNumber(const json& value, std::string_view key, double* number) {
  if (!value.is_number()) return Refuse(key, "is not a number: give one");
  *number = value.get<double>();
  return Ok();
}

Status ReadSteps(const json& value, std::string_view key, int64_t least, std::optional<int64_t>* steps) {
  double number = 0;
  TM_RETURN_IF_ERROR(ReadNumber(value, key, &number));
  if (number != std::trunc(number) || number < static_cast<double>(least) || number > 0x1p53)
    return Refuse(key, "is not a whole number of at least " + std::to_string(least) + ": give one");
  *steps = static_cast<int64_t>(number);
  return Ok();
}

Status ReadShape(const json& value, std::string_view key, RampShape* shape) {
  if (value == "linear") return *shape = RampShape::kLinear, Ok();
  if (value == "cosine") return *shape = RampShape::kCosine, Ok();
  if (value == "1-sqrt") return *shape = RampShape::kOneMinusSqrt, Ok();
  return Refuse(key, "is not a shape: give linear, cosine or 1-sqrt");
}

Status ReadOptional(const json& value, std::string_view key, std::optional<double>* number) {
  double read = 0;
  TM_RETURN_IF_ERROR(ReadNumber(value, key, &read));
  *number = read;
  return Ok();
}

Status ReadOption(const std::string& key, const json& value, ScheduleOptions* options) {
  if (key == "min_lr") return ReadOptional(value, key, &options->min_lr);
  if (key == "min_lr_rate") return ReadOptional(value, key, &options->min_lr_rate);
  if (key == "num_cycles") return ReadNumber(value, key, &options->num_cycles);
  if (key == "power") return ReadNumber(value, key, &options->power);
  if (key == "lr_end") return ReadNumber(value, key, &options->lr_end);
  if (key == "min_lr_ratio") return ReadNumber(value, key, &options->min_lr_ratio);
  if (key == "num_decay_steps") return ReadSteps(value, key, 0, &options->num_decay_steps);
  if (key == "num_stable_steps") return ReadSteps(value, key, 0, &options->num_stable_steps);
  if (key == "timescale") return ReadSteps(value, key, 1, &options->timescale);
  if (key == "warmup_type") return ReadShape(value, key, &options->warmup_type);
  return ReadShape(value, key, &options->decay_type);
}

std::vector<std::string_view> KeysOf(ScheduleType type) {
  switch (type) {
    case ScheduleType::kCosine:
      return {"num_cycles"};
    case ScheduleType::kCosineWithMinLr:
      return {"min_lr", "min_lr_rate", "num_cycles"};
    case ScheduleType::kWarmupStableDecay:
      return {"num_decay_steps", "num_stable_steps", "warmup_type", "decay_type", "min_lr_ratio", "num_cycles"};
    case ScheduleType::kInverseSqrt:
      return {"timescale"};
    case ScheduleType::kPolynomial:
      return {"power", "lr_end"};
    case ScheduleType::kLinear:
    case ScheduleType::kConstant:
    case ScheduleType::kConstantWithWarmup:
      break;
  }
  return {};
}

}  // namespace

Result<ScheduleType> ScheduleTypeFromName(std::string_view name) {
  std::string_view rest = kScheduleNames;
  for (uint8_t index = 0; !rest.empty(); ++index) {
    const size_t bar = rest.find('|');
    if (rest.substr(0, bar) == name) return static_cast<ScheduleType>(index);  // the list has the enum's order
    rest = bar == std::string_view::npos ? std::string_view() : rest.substr(bar + 1);
  }
  return Fail(ErrorCode::kInvalidArgument, "unknown schedule '" + std::string(name) + "' (--lr-scheduler-type)");
}

Result<ScheduleOptions> ParseScheduleOptions(ScheduleType type, std::string_view text) {
  ScheduleOptions options;
  if (text.empty()) return options;
  if (data::NestedTooDeeply(text))
    return Fail(ErrorCode::kInvalidArgument, "--lr-scheduler-kwargs is nested too deeply: give {\"key\":value,...}");
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object())
    return Fail(ErrorCode::kInvalidArgument, "--lr-scheduler-kwargs is not a JSON object: give {\"key\":value,...}");
  const std::vector<std::string_view> known = KeysOf(type);
  for (const auto& [key, value] : object.items()) {
    if (value.is_null()) continue;
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      const std::string nearest = NearestName(key, known);
      return Refuse(key, "is not known to this schedule" + (nearest.empty() ? "" : ": did you mean " + nearest));
    }
    TM_RETURN_IF_ERROR(ReadOption(key, value, &options));
  }
  return options;
}

}  // namespace tidemill::train
