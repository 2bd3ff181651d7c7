#include "swap_scheduler/smallest_fit.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "base/byte_size.h"

namespace tidemill::swap_scheduler {
namespace {

constexpr uint64_t kPageAlignment = 4096;

uint64_t& BytesOf(Budgets& budgets, Tier tier) {
  return tier == Tier::kDevice ? budgets.device_bytes : budgets.host_bytes;
}

uint64_t BytesOf(const Budgets& budgets, Tier tier) {
  return tier == Tier::kDevice ? budgets.device_bytes : budgets.host_bytes;
}

class Search {
 public:
  Search(const Program& program, const LookAhead& look_ahead)
      : program_(program), look_ahead_(look_ahead), least_(LeastBudgets(program)) {
    for (const Page& page : program.pages) everything_ += page.bytes;
  }

  uint64_t everything() const { return everything_; }
  bool BelowLeast(const Budgets& budgets, Tier tier) const { return BytesOf(budgets, tier) < BytesOf(least_, tier); }
  bool Fits(const Budgets& budgets) const { return MakePlan(program_, budgets, look_ahead_).has_value(); }

  // Raises one tier from where it is: doubling steps up to the first plan, then halving down again.
  std::optional<Budgets> Raise(Budgets budgets, Tier tier) const {
    uint64_t& bytes = BytesOf(budgets, tier);
    const uint64_t start = AlignUp(std::max(bytes, BytesOf(least_, tier)), kPageAlignment);
    const uint64_t grain = std::max(kPageAlignment, std::bit_floor(start / 512));
    bytes = start;
    if (Fits(budgets)) return budgets;
    uint64_t fails = 0, fits = 1;  // in grains above the start
    for (;; fits *= 2) {
      bytes = start + fits * grain;
      if (Fits(budgets)) break;
      if (bytes >= std::max(everything_, start)) return std::nullopt;
      fails = fits;
    }
    while (fits - fails > 1) {
      const uint64_t middle = fails + (fits - fails) / 2;
      bytes = start + middle * grain;
      (Fits(budgets) ? fits : fails) = middle;
    }
    bytes = start + fits * grain;
    return budgets;
  }

 private:
  const Program& program_;
  const LookAhead look_ahead_;
  const Budgets least_;
  uint64_t everything_ = 0;  // with so much in a tier, all could be in it at once
};

}  // namespace

Budgets LeastBudgets(const Program& program) {
  Budgets homes, largest;
  for (const Page& page : program.pages) {
    if (page.persistent && page.home != Tier::kNvme) BytesOf(homes, page.home) += page.bytes;
  }
  for (const Operation& op : program.operations) {
    uint64_t bytes = 0;
    for (const Use& use : op.uses) {
      const Page& page = program.pages[use.page];
      if (!page.persistent || page.home != op.tier) bytes += page.bytes;
      const bool passes = page.persistent && page.home == Tier::kNvme && op.tier == Tier::kDevice;
      if (passes) largest.host_bytes = std::max(largest.host_bytes, page.bytes);
    }
    BytesOf(largest, op.tier) = std::max(BytesOf(largest, op.tier), bytes);
  }
  return {homes.device_bytes + largest.device_bytes, homes.host_bytes + largest.host_bytes};
}

Result<Budgets> SmallestThatFits(const Program& program, const Budgets& budgets, const LookAhead& look_ahead) {
  const Search search(program, look_ahead);
  const bool device_is_short = search.BelowLeast(budgets, Tier::kDevice);
  const bool host_is_short = search.BelowLeast(budgets, Tier::kHost);
  if (!device_is_short && !host_is_short && search.Fits(budgets)) return budgets;
  std::optional<Budgets> device, host;
  if (!host_is_short) device = search.Raise(budgets, Tier::kDevice);
  if (!device_is_short) host = search.Raise(budgets, Tier::kHost);
  if (device && host) {
    const bool host_is_less = host->host_bytes - budgets.host_bytes <= device->device_bytes - budgets.device_bytes;
    return host_is_less ? *host : *device;
  }
  if (device) return *device;
  if (host) return *host;
  Budgets both = budgets;
  both.host_bytes = std::max(both.host_bytes, search.everything());
  device = search.Raise(both, Tier::kDevice);
  if (device) {
    device->host_bytes = budgets.host_bytes;
    host = search.Raise(*device, Tier::kHost);
    if (host) return *host;
  }
  both.device_bytes = std::max(both.device_bytes, search.everything());
  TM_RETURN_IF_ERROR(MakePlan(program, both, look_ahead));
  return both;
}

}  // namespace tidemill::swap_scheduler
