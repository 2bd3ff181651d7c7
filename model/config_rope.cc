#include "model/config.h"
#include "model/config_reader.h"

namespace tidemill::model {
namespace {

constexpr const char* kSupportedTypes = "RoPE of type default, linear or llama3";

Result<RopeConfig> Llama3(const ConfigReader& scaling, RopeConfig rope) {
  rope.type = RopeConfig::Type::kLlama3;
  TM_ASSIGN_OR_RETURN(rope.factor, scaling.Number("factor"));
  TM_ASSIGN_OR_RETURN(rope.low_freq_factor, scaling.Number("low_freq_factor"));
  TM_ASSIGN_OR_RETURN(rope.high_freq_factor, scaling.Number("high_freq_factor"));
  TM_ASSIGN_OR_RETURN(rope.original_max_positions, scaling.Number("original_max_position_embeddings"));
  if (rope.low_freq_factor <= 0 || rope.high_freq_factor <= rope.low_freq_factor)
    return scaling.Wrong("high_freq_factor", "is not above low_freq_factor");
  if (rope.original_max_positions < 1) return scaling.Wrong("original_max_position_embeddings", "is not positive");
  return rope;
}

Result<RopeConfig> Scale(const ConfigReader& scaling, RopeConfig rope) {
  const char* const key = scaling.Find("rope_type") != nullptr ? "rope_type" : "type";
  const nlohmann::json* const type = scaling.Find(key);
  if (type == nullptr || *type == "default") return rope;
  if (*type == "linear") {
    rope.type = RopeConfig::Type::kLinear;
    TM_ASSIGN_OR_RETURN(rope.factor, scaling.Number("factor"));
  } else if (*type == "llama3") {
    TM_ASSIGN_OR_RETURN(rope, Llama3(scaling, rope));
  } else {
    return scaling.Unsupported(key, *type, kSupportedTypes);
  }
  if (rope.factor < 1) return scaling.Wrong("factor", "is below 1");
  return rope;
}

}  // namespace

Result<RopeConfig> ParseRope(const ConfigReader& reader) {
  RopeConfig rope;
  TM_ASSIGN_OR_RETURN(rope.theta, reader.Number("rope_theta", rope.theta));
  const char* const key = reader.Find("rope_parameters") != nullptr ? "rope_parameters" : "rope_scaling";
  const nlohmann::json* const object = reader.Find(key);
  if (object != nullptr) {
    if (!object->is_object()) return reader.Wrong(key, "is not an object");
    for (const auto& [name, value] : object->items())
      if (value.is_object()) return reader.Unsupported(key, *object, "one setting for all layers");
    const ConfigReader scaling(*object, reader.where() + ", " + key);
    TM_ASSIGN_OR_RETURN(rope.theta, scaling.Number("rope_theta", rope.theta));
    TM_ASSIGN_OR_RETURN(const double share, scaling.Number("partial_rotary_factor", 1));
    if (share != 1) return scaling.Unsupported("partial_rotary_factor", share, "1");
    TM_ASSIGN_OR_RETURN(rope, Scale(scaling, rope));
  }
  if (rope.theta <= 0) return reader.Wrong("rope_theta", "is not positive");
  return rope;
}

}  // namespace tidemill::model
