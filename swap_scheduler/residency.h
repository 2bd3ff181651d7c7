// Where every page is while a step is planned: the copies, the arenas they lie in, and the moves between them.
//
//   Ownership   borrows program and future; owns the events it writes.
//   Invariants  a page whose home is not current has its only version in the tier of its last writer; a move home goes
//               all the way before anything else happens; a copy never moves within its arena.
//   Errors      a call that finds no room returns false and leaves everything usable. With `must` it takes whatever may
//               leave, the look-ahead's reservations and the last resort (an empty arena) included.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "swap_scheduler/berths.h"
#include "swap_scheduler/clock.h"
#include "swap_scheduler/future.h"
#include "swap_scheduler/plan.h"

namespace tidemill::swap_scheduler {

// Who asks: the operation that is being issued (must), or look-ahead for operation `until`, which leaves alone what is
// reserved and what is needed no later.
struct Need {
  bool must = true;
  Rank until = 0;
};

class Residency {
 public:
  struct Copy {
    bool exists = false;   // it has a place
    bool fixed = false;    // the berth of a persistent page: the place is its for ever
    bool current = false;  // it holds the page's present version
    bool held = false;     // in use by what is being planned: it may not leave
    bool awaited = false;  // reserved; the planner fetches its content as soon as that can be done
    Arena::Node node = Arena::kNone;
    uint64_t offset = 0;
    Clock space{}, ready{}, users{};  // must have ended before it is: written at all; read; overwritten
  };

  Residency(const Program& program, const Future& future, const Berths& berths, const Budgets& budgets);

  Copy& At(PageId page, Tier tier) { return copies_[page][static_cast<size_t>(tier)]; }
  bool Current(PageId page, Tier tier) const;

  // Everything up to this operation, exclusive, has been reserved in the tier by look-ahead.
  uint32_t reserved_until(Tier tier) const { return reserved_until_[static_cast<size_t>(tier)]; }
  void Reserve(Tier tier, uint32_t until) { reserved_until_[static_cast<size_t>(tier)] = until; }
  void SetNow(uint32_t operation) { now_ = operation; }
  // Space that waits for none but the first so many events counts as free: they are likely to have ended by then.
  void SetSettled(uint32_t events) { settled_ = events; }

  // A place for the page in the tier, empty if it had none.
  bool Place(PageId page, Tier tier, Need need);
  // The present version into the page's place in the tier, through host memory if that is the way.
  bool Fetch(PageId page, Tier tier, Need need);
  // The present version into the page's home.
  bool SendHome(PageId page, Need need);
  // Last resort: everything that may leave the tier does, and its gaps become one.
  void Empty(Tier tier);

  // The operation has written or read the page in its tier.
  void Wrote(PageId page, Tier tier, Lane lane, EventId event);
  void Died(PageId page);
  // Drops the copies that nobody needs, unless they are held or reserved.
  void Tidy(PageId page);

  // The last place that could not be had although it was a must; and what transient pages take of a tier that is their
  // home, so that nothing can make them leave.
  struct Refusal {
    PageId page = 0;
    Tier tier = Tier::kDevice;
  };
  const Refusal& refusal() const { return refusal_; }
  uint64_t BytesAtRest(Tier tier) const;

  EventId Emit(Event event);
  std::vector<Event>& events() { return events_; }
  const LaneBytes& moved() const { return moved_; }
  const std::array<KindBytes, kLanes>& moved_items() const { return moved_items_; }
  const std::array<uint64_t, kTiers>& peak_bytes() const { return peak_bytes_; }
  const std::array<KindBytes, kTiers>& peak_items() const { return peak_items_; }

 private:
  struct Stored {  // the page's slot in the nvme tier; offsets are the store's
    bool current = false;
    Clock ready{}, users{};
  };

  const Page& PageOf(PageId page) const { return program_.pages[page]; }
  bool HomeCurrent(PageId page) const { return Current(page, PageOf(page).home); }
  bool Reserved(PageId page, Tier tier) const { return future_.NextTouch(page, tier) <= reserved_until(tier); }
  Rank RankOf(PageId page, Tier tier, Need need) const;
  bool TryPlace(PageId page, Tier tier, Need need);
  bool Dock(PageId page, Tier tier, Need need);
  void Settle(PageId page, Tier tier, Arena::Node node, const Clock& clock);
  bool Evict(PageId page, Tier tier, Need need);
  void Drop(PageId page, Tier tier);
  bool PlaceBeside(PageId page, Tier source, Tier tier, Need need);
  bool StageOnHost(PageId page, Need need);
  void Move(PageId page, Tier from, Tier to);
  bool StillUseful(PageId page, Tier tier) const;
  void CountLive(PageId page, Tier tier, bool comes);

  const Program& program_;
  const Future& future_;
  const Berths& berths_;
  std::array<Arena, 2> arenas_;
  std::vector<std::array<Copy, 2>> copies_;
  std::vector<Stored> stored_;
  std::array<uint32_t, 2> reserved_until_{};
  std::vector<PageId> refused_;  // victims that could not leave, during one Place
  Refusal refusal_;
  uint32_t now_ = 0, settled_ = 0;
  std::vector<Event> events_;
  LaneBytes moved_;
  std::array<KindBytes, kLanes> moved_items_{};
  std::array<uint64_t, kTiers> peak_bytes_{}, live_{}, most_live_{};
  std::array<KindBytes, kTiers> live_items_{}, peak_items_{};
};

}  // namespace tidemill::swap_scheduler
