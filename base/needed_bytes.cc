#include "base/needed_bytes.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace tidemill {

std::string FormatNeeded(uint64_t bytes) {
  constexpr std::array<const char*, 4> kNames{"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double scaled = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; scaled > 1023 && unit + 1 < kNames.size(); ++unit) scaled /= 1024;
  const int decimals = scaled < 10 ? 2 : scaled < 100 ? 1 : 0;
  const double steps = std::pow(10.0, decimals);
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f %s", decimals, std::ceil(scaled * steps) / steps, kNames[unit]);
  return text.data();
}

}  // namespace tidemill
