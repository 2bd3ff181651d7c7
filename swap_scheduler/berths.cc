#include "swap_scheduler/berths.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace tidemill::swap_scheduler {
namespace {

// [base, infinity) as what is taken, up to an end, and the holes below that end.
class Row {
 public:
  explicit Row(uint64_t base) : end_(base) {}

  // The lowest free offset.
  uint64_t Take(uint64_t bytes) {
    const auto hole = std::find_if(holes_.begin(), holes_.end(), [&](const auto& h) { return h.second >= bytes; });
    if (hole == holes_.end()) return std::exchange(end_, end_ + bytes);
    const auto [offset, hole_bytes] = *hole;
    const auto behind = holes_.erase(hole);
    if (hole_bytes > bytes) holes_.emplace_hint(behind, offset + bytes, hole_bytes - bytes);
    return offset;
  }

  void Free(uint64_t offset, uint64_t bytes) {
    const auto behind = holes_.lower_bound(offset);
    if (behind != holes_.end() && behind->first == offset + bytes) {
      bytes += behind->second;
      holes_.erase(behind);
    }
    const auto place = holes_.lower_bound(offset);
    if (place != holes_.begin() && std::prev(place)->first + std::prev(place)->second == offset) {
      offset = std::prev(place)->first;
      bytes += std::prev(place)->second;
      holes_.erase(std::prev(place));
    }
    if (offset + bytes == end_) {
      end_ = offset;
    } else {
      holes_[offset] = bytes;
    }
  }

 private:
  uint64_t end_;
  std::map<uint64_t, uint64_t> holes_;  // bytes by offset; none touches another, or the end
};

// Gives berths to the transient pages of the tier that do rest in it, or to those that do not. Returns where they end.
uint64_t ParkTransients(const Program& program, const Future& future, Tier tier, bool rest, uint64_t base,
                        uint64_t budget_bytes, Berths& berths) {
  uint64_t end = base;
  Row row(base);
  std::vector<uint64_t> offset(program.pages.size(), kNoBerth);  // of those that are alive
  for (uint32_t i = 0; i < program.operations.size(); ++i) {
    const std::vector<Use>& uses = program.operations[i].uses;
    for (const Use& use : uses) {
      const Page& page = program.pages[use.page];
      if (page.persistent || page.home != tier || future.Visits(use.page).front().operation != i) continue;
      if (future.EverRests(use.page) != rest) continue;
      offset[use.page] = row.Take(page.bytes);
      if (offset[use.page] + page.bytes > budget_bytes) continue;
      berths.offset[use.page] = offset[use.page];
      end = std::max(end, offset[use.page] + page.bytes);
    }
    for (const Use& use : uses) {
      if (offset[use.page] == kNoBerth || future.Visits(use.page).back().operation != i) continue;
      row.Free(offset[use.page], program.pages[use.page].bytes);
    }
  }
  return end;
}

}  // namespace

Berths LayOutBerths(const Program& program, const Future& future, const Budgets& budgets) {
  Berths berths{.offset = std::vector<uint64_t>(program.pages.size(), kNoBerth)};
  for (PageId page = 0; page < program.pages.size(); ++page) {
    const Page& p = program.pages[page];
    if (!p.persistent || p.home == Tier::kNvme) continue;
    uint64_t& end = berths.homes[static_cast<size_t>(p.home)];
    berths.offset[page] = end;
    end += p.bytes;
  }
  for (const Tier tier : {Tier::kDevice, Tier::kHost}) {
    const auto t = static_cast<size_t>(tier);
    const uint64_t budget_bytes = tier == Tier::kDevice ? budgets.device_bytes : budgets.host_bytes;
    uint64_t& end = berths.parked_end[t];
    end = ParkTransients(program, future, tier, true, berths.homes[t], budget_bytes, berths);
    ParkTransients(program, future, tier, false, end, budget_bytes, berths);
  }
  return berths;
}

}  // namespace tidemill::swap_scheduler
