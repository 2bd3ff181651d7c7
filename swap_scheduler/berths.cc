#include "swap_scheduler/berths.h"

#include <algorithm>

namespace tidemill::swap_scheduler {
namespace {

struct Taken {
  uint64_t offset = 0, end = 0;
  PageId page = 0;
};

// The lowest free offset from `base` on; keeps `taken` in order.
uint64_t TakeLowest(std::vector<Taken>& taken, uint64_t base, uint64_t bytes, PageId page) {
  uint64_t offset = base;
  auto place = taken.begin();
  for (; place != taken.end() && place->offset < offset + bytes; ++place) offset = place->end;
  taken.insert(place, {offset, offset + bytes, page});
  return offset;
}

// Gives berths to the transient pages of the tier that do rest in it, or to those that do not. Returns where they end.
uint64_t ParkTransients(const Program& program, const Future& future, Tier tier, bool rest, uint64_t base,
                        uint64_t budget_bytes, Berths& berths) {
  uint64_t end = base;
  std::vector<Taken> taken;
  for (uint32_t i = 0; i < program.operations.size(); ++i) {
    const std::vector<Use>& uses = program.operations[i].uses;
    for (const Use& use : uses) {
      const Page& page = program.pages[use.page];
      if (page.persistent || page.home != tier || future.Visits(use.page).front().operation != i) continue;
      if (future.EverRests(use.page) != rest) continue;
      const uint64_t offset = TakeLowest(taken, base, page.bytes, use.page);
      if (offset + page.bytes > budget_bytes) continue;
      berths.offset[use.page] = offset;
      end = std::max(end, offset + page.bytes);
    }
    for (const Use& use : uses) {
      if (future.Visits(use.page).back().operation != i) continue;
      std::erase_if(taken, [&](const Taken& t) { return t.page == use.page; });
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
