// Space: who gets a place, and who leaves for it. The moves are in moves.cc.
#include "swap_scheduler/residency.h"

#include <algorithm>

#include "base/check.h"

namespace tidemill::swap_scheduler {
namespace {

Arena ArenaOf(const Berths& berths, size_t tier, uint64_t budget_bytes) {
  return {berths.homes[tier], budget_bytes - berths.homes[tier], berths.parked_end[tier]};
}

}  // namespace

Residency::Residency(const Program& program, const Future& future, const Berths& berths, const Budgets& budgets)
    : program_(program),
      future_(future),
      berths_(berths),
      arenas_{ArenaOf(berths, 0, budgets.device_bytes), ArenaOf(berths, 1, budgets.host_bytes)},
      copies_(program.pages.size()),
      stored_(program.pages.size()) {
  for (PageId page = 0; page < program.pages.size(); ++page) {
    const Page& p = PageOf(page);
    if (p.persistent || p.home == Tier::kNvme) CountLive(page, p.home, true);  // a slot in storage is there all along
    if (!p.persistent) continue;
    if (p.home == Tier::kNvme) {
      stored_[page].current = true;
    } else {
      At(page, p.home) = {.exists = true, .fixed = true, .current = true, .offset = berths.offset[page]};
    }
  }
  peak_bytes_ = {berths.homes[0], berths.homes[1], live_[2]};
}

bool Residency::Current(PageId page, Tier tier) const {
  if (tier == Tier::kNvme) return stored_[page].current;
  return copies_[page][static_cast<size_t>(tier)].current;
}

// How far away the need for a copy is; kStays if it may not leave for `need`.
Rank Residency::RankOf(PageId page, Tier tier, Need need) const {
  const Copy& copy = copies_[page][static_cast<size_t>(tier)];
  if (copy.held || (!need.must && Reserved(page, tier))) return kStays;
  if (copy.current && PageOf(page).home == tier) return kStays;
  if (!refused_.empty() && std::find(refused_.begin(), refused_.end(), page) != refused_.end()) return kStays;
  Rank next = future_.NextTouch(page, tier);
  if (copy.current) {
    next = future_.NextRead(page, tier);
    if (tier == Tier::kHost && !Current(page, Tier::kDevice)) next = future_.NextReadAnywhere(page);
  }
  return need.must || next > need.until ? next : kStays;
}

bool Residency::Place(PageId page, Tier tier, Need need) {
  if (At(page, tier).exists || TryPlace(page, tier, need)) return true;
  if (!need.must) return false;
  Empty(tier);
  if (TryPlace(page, tier, need)) return true;
  refusal_ = {page, tier};
  return false;
}

uint64_t Residency::BytesAtRest(Tier tier) const {
  uint64_t bytes = 0;
  for (const PageId page : arenas_[static_cast<size_t>(tier)].Pages()) {
    if (PageOf(page).home == tier && Current(page, tier)) bytes += PageOf(page).bytes;
  }
  return bytes;
}

bool Residency::TryPlace(PageId page, Tier tier, Need need) {
  const bool berth = PageOf(page).home == tier && berths_.offset[page] != kNoBerth;
  if (berth && Dock(page, tier, need)) return true;
  if (berth && !need.must) return false;  // elsewhere it would be in the way of others for long
  Arena& arena = arenas_[static_cast<size_t>(tier)];
  const auto rank = [&](PageId victim) { return RankOf(victim, tier, need); };
  const uint64_t bytes = PageOf(page).bytes;
  std::vector<PageId> refused;
  for (;;) {
    refused.swap(refused_);
    const Arena::Run run = arena.Find(bytes, settled_, rank);
    refused.swap(refused_);
    if (run.first == Arena::kNone) return false;
    if (run.victims.empty()) {
      Clock clock;
      const Arena::Node node = arena.Carve(run, bytes, page, clock);
      Settle(page, tier, node, clock);
      return true;
    }
    for (const PageId victim : run.victims) {
      if (Evict(victim, tier, need)) continue;
      refused.push_back(victim);
      break;
    }
  }
}

// Puts a page that rests in this tier into its own berth, and sends away who is there.
bool Residency::Dock(PageId page, Tier tier, Need need) {
  const uint64_t offset = berths_.offset[page], bytes = PageOf(page).bytes;
  Arena& arena = arenas_[static_cast<size_t>(tier)];
  const std::vector<PageId> occupants = arena.Occupants(offset, bytes);
  for (const PageId occupant : occupants) {
    if (RankOf(occupant, tier, need) == kStays) return false;
  }
  for (const PageId occupant : occupants) {
    if (!Evict(occupant, tier, need)) return false;
  }
  if (!arena.Occupants(offset, bytes).empty()) return false;
  Clock clock;
  const Arena::Node node = arena.CarveAt(offset, bytes, page, clock);
  Settle(page, tier, node, clock);
  return true;
}

void Residency::Settle(PageId page, Tier tier, Arena::Node node, const Clock& clock) {
  const uint64_t offset = arenas_[static_cast<size_t>(tier)].offset(node);
  At(page, tier) = {.exists = true, .node = node, .offset = offset, .space = clock};
  uint64_t& peak = peak_bytes_[static_cast<size_t>(tier)];
  peak = std::max(peak, offset + PageOf(page).bytes);
  CountLive(page, tier, true);
}

bool Residency::Evict(PageId page, Tier tier, Need need) {
  Copy& copy = At(page, tier);
  if (!copy.exists) return true;  // it left while a neighbour was on its way out
  TM_CHECK(!copy.fixed && !copy.held);
  if (copy.current && !HomeCurrent(page)) {
    copy.held = true;
    const bool sent = SendHome(page, need);
    copy.held = false;
    if (!sent) return false;
  }
  if (Reserved(page, tier)) Reserve(tier, future_.NextTouch(page, tier) - 1);  // that operation is no longer complete
  if (copy.exists) Drop(page, tier);
  return true;
}

void Residency::Drop(PageId page, Tier tier) {
  Copy& copy = At(page, tier);
  copy.current = false;
  if (copy.fixed) return;
  TM_CHECK(copy.exists);
  copy.space.Add(copy.ready);
  copy.space.Add(copy.users);
  arenas_[static_cast<size_t>(tier)].Release(copy.node, copy.space, settled_);
  CountLive(page, tier, false);
  copy = {};
}

void Residency::Empty(Tier tier) {
  Arena& arena = arenas_[static_cast<size_t>(tier)];
  for (const PageId page : arena.Pages()) {
    if (At(page, tier).exists && RankOf(page, tier, {}) != kStays) Evict(page, tier, {});
  }
  arena.MergeGaps();
}

void Residency::Wrote(PageId page, Tier tier, Lane lane, EventId event) {
  for (const Tier other : {Tier::kDevice, Tier::kHost}) {
    At(page, other).current = other == tier;
  }
  stored_[page].current = false;
  Copy& copy = At(page, tier);
  copy.space = copy.users = {};
  copy.ready = Clock(lane, event);
}

void Residency::Died(PageId page) {
  for (Copy& copy : copies_[page]) copy.current = false;
  stored_[page].current = false;
}

// Is a copy outside the home worth its place while nobody else wants it? Persistent pages are cached for as long as
// there is room; transient ones go, so that they are where the placement says.
bool Residency::StillUseful(PageId page, Tier tier) const {
  if (!PageOf(page).persistent) return future_.SoonOn(page, tier, now_);
  return (tier == Tier::kHost ? future_.NextReadAnywhere(page) : future_.NextRead(page, tier)) != kNever;
}

void Residency::Tidy(PageId page) {
  for (const Tier tier : {Tier::kDevice, Tier::kHost}) {
    const Copy& copy = At(page, tier);
    if (!copy.exists || copy.fixed || copy.held || Reserved(page, tier)) continue;
    const bool spare = copy.current && PageOf(page).home != tier && HomeCurrent(page);
    if (!copy.current || (spare && !StillUseful(page, tier))) Drop(page, tier);
  }
}

// `comes`: a copy takes its place; else it gives it up.
void Residency::CountLive(PageId page, Tier tier, bool comes) {
  const auto t = static_cast<size_t>(tier);
  const uint64_t bytes = PageOf(page).bytes;
  uint64_t& item = live_items_[t][static_cast<size_t>(PageOf(page).kind)];
  item = comes ? item + bytes : item - bytes;
  live_[t] = comes ? live_[t] + bytes : live_[t] - bytes;
  if (live_[t] <= most_live_[t]) return;
  most_live_[t] = live_[t];
  peak_items_[t] = live_items_[t];
}

}  // namespace tidemill::swap_scheduler
