// What the rest of the step wants of each page: the index that the planner's decisions are made by.
//
//   Ownership  borrows the program.
//   Cost       a question is O(1), Visits() and GoesHome*() aside; building it is linear in the program's uses.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "swap_scheduler/arena.h"
#include "swap_scheduler/plan.h"

namespace tidemill::swap_scheduler {

class Future {
 public:
  struct Visit {
    uint32_t operation = 0;
    Tier tier = Tier::kDevice;
    Access access = Access::kRead;
    bool dies = false;
  };

  Future(const Program& program, const LookAhead& look_ahead);

  // All uses of a page in a step, in order.
  std::span<const Visit> Visits(PageId page) const;

  // Operation `now` has been issued and touched the page.
  void Advance(PageId page, uint32_t now);

  // The next use on the tier, whatever it is; kNever if there is none.
  Rank NextTouch(PageId page, Tier tier) const { return Next(page).touch[static_cast<size_t>(tier)]; }

  // The next use that reads a copy in the tier as it is now. `any`: a use on the other tier counts too, since a copy
  // in host memory saves a read from storage.
  Rank NextRead(PageId page, Tier tier) const { return Next(page).read[static_cast<size_t>(tier)]; }
  Rank NextReadAnywhere(PageId page) const { return Next(page).read_anywhere; }

  // Would operation `i` read the version that there is now (nobody writes it in between)?
  bool WantedBy(PageId page, uint32_t i) const { return Next(page).new_version > i; }

  // Is the page's next use on the tier within the window of operation `now`?
  bool SoonOn(PageId page, Tier tier, uint32_t now) const;

  // The rule of moving home (plan.h), for a page that operation `now` has just written, after Advance().
  bool GoesHomeNow(PageId page, uint32_t now) const;

  // The same for any write of the page, known before the walk: does the page ever rest in its home?
  bool EverRests(PageId page) const;

 private:
  // What the uses from one of them on want.
  struct Ahead {
    std::array<Rank, 2> touch{kNever, kNever}, read{kNever, kNever};
    Rank read_anywhere = kNever;
    Rank new_version = kNever;  // the next use that writes the page or ends it
  };

  bool Within(uint32_t from, uint32_t to, Tier tier) const;
  bool GoesHome(PageId page, uint32_t written) const;  // written: index in visits_
  static Ahead AheadOf(const Visit& visit, const Ahead& after);
  const Ahead& Next(PageId page) const { return ahead_[position_[page] + page]; }

  const Program& program_;
  std::array<uint32_t, 2> window_{};  // per tier, in phase blocks
  std::vector<uint32_t> begin_;       // per page and one more: where its uses start in visits_
  std::vector<Visit> visits_;
  std::vector<uint32_t> position_;  // per page, in visits_: the first use that is still to come
  std::vector<Ahead> ahead_;        // per visit, and one behind each page's last: page p's are p places further on
};

}  // namespace tidemill::swap_scheduler
