// The walk: operation by operation, reserve places, fetch, issue, send home; then look ahead.
#include <algorithm>
#include <numeric>
#include <utility>

#include "base/byte_size.h"
#include "base/check.h"
#include "base/needed_bytes.h"
#include "swap_scheduler/berths.h"
#include "swap_scheduler/future.h"
#include "swap_scheduler/plan.h"
#include "swap_scheduler/program_check.h"
#include "swap_scheduler/residency.h"

namespace tidemill::swap_scheduler {
namespace {

constexpr std::array kMemories{Tier::kHost, Tier::kDevice};

tl::unexpected<Error> DoesNotFit(Tier tier, const std::string& what, uint64_t needed_bytes, uint64_t budget_bytes) {
  const bool pieces = needed_bytes <= budget_bytes;  // it adds up, but what is at rest leaves no hole large enough
  return Fail(ErrorCode::kDoesNotFit, std::string(Name(tier)) + " memory is too small (" + what + "): needs at least " +
                                          FormatNeeded(needed_bytes) + (pieces ? " and in fewer pieces, of " : " of ") +
                                          FormatBytes(budget_bytes) + ": raise the budget, or place more below it");
}

class Walk {
 public:
  Walk(const Program& program, const Budgets& budgets, const LookAhead& look_ahead, Future& future,
       const Berths& berths);
  Status Run();
  Plan Take();

 private:
  struct Waiting {  // a reserved place whose content could not be fetched yet
    PageId page;
    Tier tier;
    uint32_t operation;
  };

  Status Issue(uint32_t i);
  Status AfterOperation(uint32_t i);
  bool Reserve(uint32_t i, Need need);
  void Release(uint32_t i);
  void FetchWaiting(uint32_t now);
  void LookAheadOf(Tier tier, uint32_t next);
  tl::unexpected<Error> Refuse(uint32_t i, const std::string& what);
  uint64_t BudgetOf(Tier tier) const { return tier == Tier::kDevice ? budgets_.device_bytes : budgets_.host_bytes; }

  const Program& program_;
  const Budgets budgets_;
  const LookAhead look_ahead_;
  Future& future_;
  const Berths& berths_;
  Residency residency_;
  std::vector<std::vector<uint32_t>> by_size_;  // per operation: its uses, those with berths first, then large ones
  std::array<std::vector<uint32_t>, 2> queue_;  // per tier: its operations
  std::array<size_t, 2> cursor_{};              // the first in queue_ that is not wholly reserved
  std::vector<Waiting> waiting_;
  Clock norm_;
};

Walk::Walk(const Program& program, const Budgets& budgets, const LookAhead& look_ahead, Future& future,
           const Berths& berths)
    : program_(program),
      budgets_(budgets),
      look_ahead_(look_ahead),
      future_(future),
      berths_(berths),
      residency_(program, future, berths, budgets),
      by_size_(program.operations.size()) {
  for (uint32_t i = 0; i < program.operations.size(); ++i) {
    const Operation& op = program.operations[i];
    if (!op.uses.empty()) queue_[static_cast<size_t>(op.tier)].push_back(i);
    std::vector<uint32_t>& order = by_size_[i];
    order.resize(op.uses.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto key = [&](uint32_t use) {
      const Page& page = program.pages[op.uses[use].page];
      const bool berth = page.home == op.tier && berths.offset[op.uses[use].page] != kNoBerth;
      return std::pair(!berth, ~page.bytes);
    };
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  }
}

Status Walk::Run() {
  const auto count = static_cast<uint32_t>(program_.operations.size());
  uint32_t block_before = 0, block = 0;  // the first event of the block before the present one, and of that one
  for (uint32_t i = 0; i < count; ++i) {
    if (i > 0 && program_.operations[i].phase_block != program_.operations[i - 1].phase_block) {
      block_before = std::exchange(block, static_cast<uint32_t>(residency_.events().size()));
      residency_.SetSettled(block_before);
    }
    for (const Tier tier : kMemories) LookAheadOf(tier, i);
    TM_RETURN_IF_ERROR(Issue(i));
    TM_RETURN_IF_ERROR(AfterOperation(i));
    FetchWaiting(i);
  }
  for (PageId page = 0; page < program_.pages.size(); ++page) {  // so the next step can begin as this one did
    TM_CHECK(residency_.Current(page, program_.pages[page].home) == program_.pages[page].persistent);
  }
  return Ok();
}

// A place for every page of the operation, and the moves whose source exists: space first, data when there is some.
bool Walk::Reserve(uint32_t i, Need need) {
  const Operation& op = program_.operations[i];
  for (const uint32_t k : by_size_[i]) {
    const Use& use = op.uses[k];
    if (!residency_.Place(use.page, op.tier, need)) return false;
    if (need.must) residency_.At(use.page, op.tier).held = true;
    if (use.access == Access::kMake || residency_.Current(use.page, op.tier)) continue;
    if (future_.WantedBy(use.page, i) && residency_.Fetch(use.page, op.tier, need)) continue;
    if (need.must) return false;
    bool& awaited = residency_.At(use.page, op.tier).awaited;
    if (!awaited) waiting_.push_back({use.page, op.tier, i});
    awaited = true;
  }
  return true;
}

void Walk::Release(uint32_t i) {
  const Operation& op = program_.operations[i];
  for (const Use& use : op.uses) residency_.At(use.page, op.tier).held = false;
}

Status Walk::Issue(uint32_t i) {
  const Operation& op = program_.operations[i];
  if (!Reserve(i, {})) {
    Release(i);
    residency_.Empty(op.tier);
    if (!Reserve(i, {}))
      return Refuse(i, std::string(Name(op.kind)) + " " + std::to_string(op.block) + ", micro-batch " +
                           std::to_string(op.micro_batch));
  }
  Event event{.lane = op.lane, .op = static_cast<int32_t>(i)};
  Clock waits;
  if (op.after_norm) waits.Add(norm_);
  for (const Use& use : op.uses) {
    const Residency::Copy& copy = residency_.At(use.page, op.tier);
    event.offsets.push_back(copy.offset);
    waits.Add(copy.ready);
    if (use.access == Access::kRead) continue;
    waits.Add(copy.space);
    waits.Add(copy.users);
  }
  event.waits_for = waits.Events();
  const EventId id = residency_.Emit(std::move(event));
  if (op.kind == OperationKind::kNorm) norm_ = Clock(op.lane, id);
  for (const Use& use : op.uses) {
    if (use.access == Access::kRead) {
      residency_.At(use.page, op.tier).users.Add(op.lane, id);
    } else {
      residency_.Wrote(use.page, op.tier, op.lane, id);
    }
  }
  return Ok();
}

// Unpins, drops the dead and the stale, and sends home what was written.
Status Walk::AfterOperation(uint32_t i) {
  const Operation& op = program_.operations[i];
  residency_.SetNow(i);
  Release(i);
  for (const Use& use : op.uses) {
    future_.Advance(use.page, i);
    if (use.dies) residency_.Died(use.page);
  }
  for (const Use& use : op.uses) residency_.Tidy(use.page);
  for (const Use& use : op.uses) {
    if (use.access == Access::kRead || use.dies || !future_.GoesHomeNow(use.page, i)) continue;
    if (residency_.SendHome(use.page, {})) continue;
    return Refuse(i, program_.pages[use.page].name);
  }
  return Ok();
}

void Walk::FetchWaiting(uint32_t now) {
  std::erase_if(waiting_, [&](const Waiting& w) {
    bool done = w.operation <= now || !residency_.At(w.page, w.tier).exists ||
                w.operation >= residency_.reserved_until(w.tier) || residency_.Current(w.page, w.tier);
    if (!done && future_.WantedBy(w.page, w.operation)) {
      done = residency_.Fetch(w.page, w.tier, {.must = false, .until = w.operation + 1});
    }
    if (done) residency_.At(w.page, w.tier).awaited = false;
    return done;
  });
}

// Reserves for the operations from `next` on that lie within the window of the last one issued, until there is no room.
void Walk::LookAheadOf(Tier tier, uint32_t next) {
  const auto t = static_cast<size_t>(tier);
  const std::vector<uint32_t>& queue = queue_[t];
  const uint32_t blocks = tier == Tier::kDevice ? look_ahead_.device_blocks : look_ahead_.host_blocks;
  if (blocks == 0) return;
  size_t& cursor = cursor_[t];
  while (cursor > 0 && queue[cursor - 1] >= residency_.reserved_until(tier)) --cursor;  // an eviction undid some
  while (cursor < queue.size() && queue[cursor] < next) ++cursor;
  const uint32_t end_block = program_.operations[next == 0 ? 0 : next - 1].phase_block + blocks;
  while (cursor < queue.size() && program_.operations[queue[cursor]].phase_block <= end_block) {
    const uint32_t i = queue[cursor];
    residency_.Reserve(tier, std::max(residency_.reserved_until(tier), i + 1));
    if (!Reserve(i, {.must = false, .until = i + 1})) break;
    ++cursor;
  }
}

// What the tier that refused would need at this point: homes, pages at rest, and what the operation wants beside them.
tl::unexpected<Error> Walk::Refuse(uint32_t i, const std::string& what) {
  const Operation& op = program_.operations[i];
  const auto [refused, tier] = residency_.refusal();
  const auto at_rest = [&](PageId page) {
    return program_.pages[page].home == tier && (program_.pages[page].persistent || residency_.Current(page, tier));
  };
  uint64_t bytes = berths_.homes[static_cast<size_t>(tier)] + residency_.BytesAtRest(tier);
  if (tier != op.tier) bytes += program_.pages[refused].bytes;
  for (const Use& use : op.uses) {
    if (tier == op.tier && !at_rest(use.page)) bytes += program_.pages[use.page].bytes;
  }
  return DoesNotFit(tier, what, bytes, BudgetOf(tier));
}

Plan Walk::Take() {
  return {.events = std::move(residency_.events()),
          .home_offset = berths_.offset,
          .peak_bytes = residency_.peak_bytes(),
          .peak_items = residency_.peak_items(),
          .moved = residency_.moved(),
          .moved_items = residency_.moved_items()};
}

}  // namespace

Result<Plan> MakePlan(const Program& program, const Budgets& budgets, const LookAhead& look_ahead) {
  CheckProgram(program);
  Future future(program, look_ahead);
  const Berths berths = LayOutBerths(program, future, budgets);
  if (berths.homes[0] > budgets.device_bytes) {
    return DoesNotFit(Tier::kDevice, "homes", berths.homes[0], budgets.device_bytes);
  }
  if (berths.homes[1] > budgets.host_bytes) {
    return DoesNotFit(Tier::kHost, "homes", berths.homes[1], budgets.host_bytes);
  }
  Walk walk(program, budgets, look_ahead, future, berths);
  TM_RETURN_IF_ERROR(walk.Run());
  return walk.Take();
}

}  // namespace tidemill::swap_scheduler
