// How pages are cut over several files: pure, so that a table of cases says all of it.
//
// A page becomes extents, one per file, so that one page read or write keeps every drive busy; their sizes follow the
// files' shares. A share is a file's weight over the sum of weights; a file with less room than its share takes what it
// has room for, and the others take the rest by their weights. Over all pages each file's bytes follow its share: what
// one page gives it too few, by rounding or because an extent would be too small to be worth a request, the next makes
// up for. A page too small to be cut goes whole to the file that is furthest behind its share.
//
//   Limits   sizes and offsets are multiples of 4096 bytes. The same input gives the same layout on one machine.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "io/storage_speed.h"

namespace tidemill::offload {

// Smaller extents cost more in requests than they gain: a page of less than two of them stays whole.
inline constexpr uint64_t kExtentBytesMin = 128 * 1024;

struct StripeFile {
  double weight = 1;  // above 0; only ratios count
  uint64_t capacity_bytes = UINT64_MAX;
};

struct StripePage {
  uint64_t bytes = 0;  // 0: not in the files
  uint32_t slots = 1;  // 1 or 2 versions, side by side in the same files
};

// Bytes [begin, begin + bytes) of a page.
struct StripeExtent {
  uint32_t file = 0;
  uint64_t begin_bytes = 0, bytes = 0;
  std::array<uint64_t, 2> slot_offset{};  // in the file; of a page with one slot only the first counts
};

struct StripeLayout {
  std::vector<std::vector<StripeExtent>> pages;  // in the order of their bytes, which they cover without a gap
  std::vector<uint64_t> file_bytes;
};

// Nothing: the files together have too little room.
std::optional<StripeLayout> MakeStripeLayout(std::span<const StripePage> pages, std::span<const StripeFile> files);

// What the pages need in all files together.
uint64_t StripedBytes(std::span<const StripePage> pages);

// A file's weight: the rate of a drive that reads a byte for every one that it writes, 1 / (1/read + 1/write).
double StripeWeight(const io::StorageSpeed& speed);

}  // namespace tidemill::offload
