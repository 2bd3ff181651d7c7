// A size that somebody is told to give or to free: as FormatBytes, but never less than `bytes` when it is read again.
#pragma once

#include <cstdint>
#include <string>

namespace tidemill {

// "4.38 MiB" for what FormatBytes would call 4.37 MiB.
std::string FormatNeeded(uint64_t bytes);

}  // namespace tidemill
