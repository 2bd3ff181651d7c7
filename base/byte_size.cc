#include "base/byte_size.h"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace tidemill {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr std::array<Unit, 9> kUnits{{{"b", 1},
                                      {"kb", 1e3},
                                      {"mb", 1e6},
                                      {"gb", 1e9},
                                      {"tb", 1e12},
                                      {"kib", 0x1p10},
                                      {"mib", 0x1p20},
                                      {"gib", 0x1p30},
                                      {"tib", 0x1p40}}};

Result<double> Parse(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(end, text.data() + text.size());
  std::erase(unit, ' ');
  for (char& c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  double scale = unit.empty() ? 1 : 0;
  for (const Unit& known : kUnits) {
    if (known.name == unit) scale = known.bytes;
  }
  if (error != std::errc{} || scale == 0 || !std::isfinite(number) || number < 0)
    return Fail(ErrorCode::kInvalidArgument,
                "'" + std::string(text) +
                    "' is not a size: write bytes, or a number with KB, MB, GB, TB, KiB, MiB, GiB or TiB");
  return number * scale;
}

}  // namespace

Result<uint64_t> ParseByteSize(std::string_view text) {
  TM_ASSIGN_OR_RETURN(const double bytes, Parse(text));
  if (bytes >= 0x1p63 || (bytes > 0 && bytes < 1))
    return Fail(ErrorCode::kInvalidArgument, "'" + std::string(text) + "' is not a size that a machine can have");
  return static_cast<uint64_t>(bytes);
}

Result<double> ParseByteRate(std::string_view text) {
  if (text.ends_with("/s")) text.remove_suffix(2);
  return Parse(text);
}

std::string FormatBytes(uint64_t bytes) {
  constexpr std::array<const char*, 5> kNames{"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < kKiB) return std::to_string(bytes) + " B";
  double scaled = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (scaled >= 1024 && unit + 1 < kNames.size()) {
    scaled /= 1024;
    ++unit;
  }
  const int decimals = scaled < 10 ? 2 : scaled < 100 ? 1 : 0;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f %s", decimals, scaled, kNames[unit]);
  return text.data();
}

}  // namespace tidemill
