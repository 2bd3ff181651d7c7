#include "io/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace tidemill::io {

uint32_t Crc32c(std::span<const std::byte> bytes, uint32_t before) {
  constexpr size_t kPartBytes = size_t{1} << 30;  // the library counts in int
  uint32_t state = ~before;                       // the library leaves both inversions to its caller
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), kPartBytes));
    // It reads only; its signature merely lacks the const.
    auto* const data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(part.data()));
    state = crc32_iscsi(data, static_cast<int>(part.size()), state);
    bytes = bytes.subspan(part.size());
  }
  return ~state;
}

}  // namespace tidemill::io
