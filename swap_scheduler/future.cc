#include "swap_scheduler/future.h"

#include <algorithm>

namespace tidemill::swap_scheduler {

Future::Future(const Program& program, const LookAhead& look_ahead)
    : program_(program),
      window_{std::max(1u, look_ahead.device_blocks), std::max(1u, look_ahead.host_blocks)},
      begin_(program.pages.size() + 1),
      position_(program.pages.size()) {
  for (const Operation& op : program.operations) {
    for (const Use& use : op.uses) ++begin_[use.page + 1];
  }
  for (size_t page = 0; page < program.pages.size(); ++page) begin_[page + 1] += begin_[page];
  visits_.resize(begin_.back());
  std::vector<uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (uint32_t i = 0; i < program.operations.size(); ++i) {
    const Operation& op = program.operations[i];
    for (const Use& use : op.uses) visits_[next[use.page]++] = {i, op.tier, use.access, use.dies};
  }
  ahead_.resize(visits_.size() + program.pages.size());
  for (PageId page = 0; page < program.pages.size(); ++page) {
    position_[page] = begin_[page];
    for (uint32_t k = begin_[page + 1]; k-- > begin_[page];)
      ahead_[k + page] = AheadOf(visits_[k], ahead_[k + page + 1]);
  }
}

std::span<const Future::Visit> Future::Visits(PageId page) const {
  return std::span(visits_).subspan(begin_[page], begin_[page + 1] - begin_[page]);
}

void Future::Advance(PageId page, uint32_t now) {
  uint32_t& position = position_[page];
  while (position < begin_[page + 1] && visits_[position].operation <= now) ++position;
}

Future::Ahead Future::AheadOf(const Visit& visit, const Ahead& after) {
  const auto tier = static_cast<size_t>(visit.tier);
  const Rank rank = visit.operation + 1;
  const bool makes = visit.access == Access::kMake, reads_only = visit.access == Access::kRead;
  Ahead ahead;
  ahead.touch = after.touch;
  ahead.touch[tier] = rank;
  if (!makes) ahead.read[tier] = ahead.read_anywhere = rank;
  if (reads_only && !visit.dies) ahead.read[1 - tier] = after.read[1 - tier];
  ahead.new_version = reads_only && !visit.dies ? after.new_version : rank;
  return ahead;
}

bool Future::Within(uint32_t from, uint32_t to, Tier tier) const {
  const auto& operations = program_.operations;
  return operations[to].phase_block <= operations[from].phase_block + window_[static_cast<size_t>(tier)];
}

bool Future::SoonOn(PageId page, Tier tier, uint32_t now) const {
  const Rank touch = NextTouch(page, tier);
  return touch != kNever && Within(now, touch - 1, tier);
}

bool Future::GoesHome(PageId page, uint32_t written) const {
  const Visit* before = &visits_[written];
  if (before->dies) return false;
  for (uint32_t k = written + 1; k < begin_[page + 1]; ++k) {
    const Visit& visit = visits_[k];
    if (visit.tier != before->tier || !Within(before->operation, visit.operation, visit.tier)) return true;
    if (visit.access != Access::kRead || visit.dies) return false;
    before = &visit;
  }
  return true;
}

bool Future::GoesHomeNow(PageId page, uint32_t now) const {
  const uint32_t last = position_[page] - 1;
  return visits_[last].operation == now && GoesHome(page, last);
}

bool Future::EverRests(PageId page) const {
  for (uint32_t k = begin_[page]; k < begin_[page + 1]; ++k) {
    const Visit& visit = visits_[k];
    if (visit.tier == program_.pages[page].home) return true;
    if (visit.access != Access::kRead && GoesHome(page, k)) return true;
  }
  return false;
}

}  // namespace tidemill::swap_scheduler
