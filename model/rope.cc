#include "model/rope.h"

#include <cmath>
#include <numbers>

#include "base/check.h"

namespace tidemill::model {
namespace {

float Llama3(const RopeConfig& rope, float frequency) {
  const auto factor = static_cast<float>(rope.factor), low = static_cast<float>(rope.low_freq_factor);
  const auto high = static_cast<float>(rope.high_freq_factor),
             original = static_cast<float>(rope.original_max_positions);
  const float wavelength = static_cast<float>(2 * std::numbers::pi) / frequency;
  if (wavelength < original / high) return frequency;
  if (wavelength > original / low) return frequency / factor;
  const float smooth = (original / wavelength - low) / (high - low);
  return (1.0F - smooth) * frequency / factor + smooth * frequency;
}

}  // namespace

std::vector<float> InverseFrequencies(const RopeConfig& rope, int64_t head_dim) {
  std::vector<float> frequencies;
  for (int64_t i = 0; i < head_dim; i += 2) {
    const float exponent = static_cast<float>(i) / static_cast<float>(head_dim);
    float frequency = 1.0F / static_cast<float>(std::pow(rope.theta, static_cast<double>(exponent)));
    if (rope.type == RopeConfig::Type::kLinear) frequency /= static_cast<float>(rope.factor);
    if (rope.type == RopeConfig::Type::kLlama3) frequency = Llama3(rope, frequency);
    frequencies.push_back(frequency);
  }
  return frequencies;
}

void FillRopeTables(std::span<const float> frequencies, std::span<float> cosines, std::span<float> sines) {
  TM_CHECK(cosines.size() == sines.size() && cosines.size() % frequencies.size() == 0);
  for (size_t at = 0; at < cosines.size(); ++at) {
    const float angle = static_cast<float>(at / frequencies.size()) * frequencies[at % frequencies.size()];
    cosines[at] = static_cast<float>(std::cos(static_cast<double>(angle)));
    sines[at] = static_cast<float>(std::sin(static_cast<double>(angle)));
  }
}

}  // namespace tidemill::model
