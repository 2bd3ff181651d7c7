// Sizes and rates in bytes, and their text. GB = 1e9, GiB = 2^30: a number is never printed without its unit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemill {

inline constexpr uint64_t kKiB = 1024;
inline constexpr uint64_t kMiB = 1024 * kKiB;
inline constexpr uint64_t kGiB = 1024 * kMiB;

// "8GiB", "8 GB", "512MiB", "1e9", "1.5g" is refused: bytes if bare, else one of B, KB, MB, GB, TB, KiB, MiB, GiB, TiB
// in any case. Fails on anything negative, not finite, fractional after scaling to below one byte, or above 2^63.
Result<uint64_t> ParseByteSize(std::string_view text);

// "25GB/s" or "25GB": bytes per second.
Result<double> ParseByteRate(std::string_view text);

// Three significant digits in binary units: "3.50 GiB", "512 MiB", "17 B".
std::string FormatBytes(uint64_t bytes);

// The next multiple of `alignment` (a power of two).
constexpr uint64_t AlignUp(uint64_t bytes, uint64_t alignment) { return (bytes + alignment - 1) & ~(alignment - 1); }

}  // namespace tidemill
