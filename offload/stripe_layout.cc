#include "offload/stripe_layout.h"

#include <algorithm>
#include <numeric>

#include "base/byte_size.h"
#include "base/check.h"
#include "io/block_file.h"

namespace tidemill::offload {
namespace {

constexpr uint64_t kBlock = io::kAlignmentBytes;

uint64_t FileBytes(const StripePage& page) { return AlignUp(page.bytes, kBlock) * page.slots; }

// The part of `total_bytes` that each file is to take: by weight, but never more than it has room for. Files that are
// too small for their part are filled first, until the rest fit theirs.
std::optional<std::vector<double>> Shares(std::span<const StripeFile> files, uint64_t total_bytes) {
  std::vector<double> shares(files.size());
  std::vector<bool> full(files.size());
  auto left = static_cast<double>(total_bytes);
  for (bool changed = true; changed;) {
    changed = false;
    double weights = 0;
    for (size_t i = 0; i < files.size(); ++i) weights += full[i] ? 0 : files[i].weight;
    if (weights == 0) return left <= 0 ? std::optional(shares) : std::nullopt;
    for (size_t i = 0; i < files.size(); ++i) {
      if (!full[i]) shares[i] = left * files[i].weight / weights;
    }
    for (size_t i = 0; i < files.size(); ++i) {
      const auto room = static_cast<double>(files[i].capacity_bytes);
      if (full[i] || shares[i] <= room) continue;
      shares[i] = room;
      left -= room;
      full[i] = changed = true;
    }
  }
  return shares;
}

// Whole blocks.
uint64_t PartOf(uint64_t page_bytes, double part) {
  return static_cast<uint64_t>(static_cast<double>(page_bytes) * part) / kBlock * kBlock;
}

// Who takes a part of the page in proportion to what it wants, if every part is to be worth a request.
std::vector<size_t> Takers(uint64_t page_bytes, std::span<const double> wanted) {
  std::vector<size_t> takers;
  double sum = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] <= 0) continue;
    takers.push_back(i);
    sum += wanted[i];
  }
  std::stable_sort(takers.begin(), takers.end(), [&](size_t a, size_t b) { return wanted[a] > wanted[b]; });
  while (!takers.empty() && PartOf(page_bytes, wanted[takers.back()] / sum) < kExtentBytesMin) {
    sum -= wanted[takers.back()];
    takers.pop_back();
  }
  return takers;
}

// The bytes of one page that each file takes. `wanted`: what would bring it to its share, perhaps less than nothing;
// `room`: what it can take at most, whole blocks. Empty: there is no room.
std::vector<uint64_t> Cut(uint64_t page_bytes, std::span<const double> wanted, std::span<const uint64_t> room) {
  std::vector<uint64_t> cut(wanted.size());
  uint64_t left = page_bytes;
  const std::vector<size_t> takers = Takers(page_bytes, wanted);
  double sum = 0;
  for (const size_t i : takers) sum += wanted[i];
  for (const size_t i : takers) {
    cut[i] = std::min({room[i], PartOf(page_bytes, wanted[i] / sum), left});
    left -= cut[i];
  }
  // All of a small page, or the rest of rounding: to who is furthest behind, rather than as a further small extent.
  while (left > 0) {
    std::optional<size_t> best;
    const auto better = [&](size_t i) {
      if (!best) return true;
      const bool grows = cut[i] > 0 || left >= kExtentBytesMin, best_grows = cut[*best] > 0 || left >= kExtentBytesMin;
      if (grows != best_grows) return grows;
      return wanted[i] - static_cast<double>(cut[i]) > wanted[*best] - static_cast<double>(cut[*best]);
    };
    for (size_t i = 0; i < cut.size(); ++i) {
      if (room[i] > cut[i] && better(i)) best = i;
    }
    if (!best) return {};
    const uint64_t bytes = std::min(left, room[*best] - cut[*best]);
    cut[*best] += bytes;
    left -= bytes;
  }
  return cut;
}

}  // namespace

double StripeWeight(const io::StorageSpeed& speed) {
  TM_CHECK(speed.read_bytes_per_s > 0 && speed.write_bytes_per_s > 0);
  return 1 / (1 / speed.read_bytes_per_s + 1 / speed.write_bytes_per_s);
}

uint64_t StripedBytes(std::span<const StripePage> pages) {
  return std::transform_reduce(pages.begin(), pages.end(), uint64_t{0}, std::plus<>(), FileBytes);
}

std::optional<StripeLayout> MakeStripeLayout(std::span<const StripePage> pages, std::span<const StripeFile> files) {
  TM_CHECK(!files.empty());
  for (const StripeFile& file : files) TM_CHECK(file.weight > 0);
  const uint64_t total_bytes = StripedBytes(pages);
  const auto shares = Shares(files, total_bytes);
  if (!shares) return std::nullopt;
  StripeLayout layout{std::vector<std::vector<StripeExtent>>(pages.size()), std::vector<uint64_t>(files.size())};
  std::vector<double> wanted(files.size());
  std::vector<uint64_t> room(files.size());
  uint64_t placed_bytes = 0;
  for (size_t p = 0; p < pages.size(); ++p) {
    const StripePage& page = pages[p];
    if (page.bytes == 0) continue;
    TM_CHECK(page.slots == 1 || page.slots == 2);
    placed_bytes += FileBytes(page);
    const double placed = static_cast<double>(placed_bytes) / static_cast<double>(total_bytes);
    for (size_t i = 0; i < files.size(); ++i) {
      wanted[i] = ((*shares)[i] * placed - static_cast<double>(layout.file_bytes[i])) / page.slots;
      room[i] = (files[i].capacity_bytes - layout.file_bytes[i]) / page.slots / kBlock * kBlock;
    }
    const std::vector<uint64_t> cut = Cut(AlignUp(page.bytes, kBlock), wanted, room);
    if (cut.empty()) return std::nullopt;
    uint64_t begin = 0;
    for (uint32_t i = 0; i < files.size(); ++i) {
      if (cut[i] == 0) continue;
      uint64_t& end = layout.file_bytes[i];
      layout.pages[p].push_back({i, begin, cut[i], {end, page.slots == 2 ? end + cut[i] : end}});
      end += cut[i] * page.slots;
      begin += cut[i];
    }
  }
  return layout;
}

}  // namespace tidemill::offload
