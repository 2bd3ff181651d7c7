// What each event of a plan reads and writes, derived from the program alone and independently of the planner.
#pragma once

#include <string>
#include <vector>

#include "swap_scheduler/plan.h"

namespace tidemill::fakes {

using namespace swap_scheduler;

inline constexpr uint64_t kUnit = 4096;

// A page's bytes in a place: units [begin, end) of a memory, or (kNvme) the page's own slot.
struct PlanAccess {
  Tier tier = Tier::kDevice;
  PageId page = 0;
  uint64_t begin = 0, end = 0;
  uint32_t version = 0;  // reads: what has to be there; writes: what will be there. 0: from the step before
};

struct PlanAccesses {
  std::vector<PlanAccess> reads{}, writes{};  // an update is in both
};

// Per event, in list order. A page's version is one more than the last listed operation that wrote it.
// `problem` says what is wrong with the list itself: operations missing or out of order, a move that may not be.
inline std::vector<PlanAccesses> AccessesOf(const Program& program, const Plan& plan, std::string& problem) {
  std::vector<PlanAccesses> all(plan.events.size());
  std::vector<uint32_t> version(program.pages.size());
  const auto access = [&](PageId page, Tier tier, uint64_t offset) {
    const uint64_t units = program.pages[page].bytes / kUnit;
    if (tier == Tier::kNvme) return PlanAccess{tier, page, 0, units, version[page]};
    return PlanAccess{tier, page, offset / kUnit, offset / kUnit + units, version[page]};
  };
  int32_t next = 0;
  for (size_t e = 0; e < plan.events.size(); ++e) {
    const Event& event = plan.events[e];
    for (const EventId waits_for : event.waits_for) {
      if (waits_for >= e) problem = "event " + std::to_string(e) + " waits for a later one";
    }
    if (event.op < 0) {
      const Tier home = program.pages[event.page].home;
      const bool stored = event.from == Tier::kNvme || event.to == Tier::kNvme;
      if (stored && home != Tier::kNvme) problem = "page " + std::to_string(event.page) + " goes below its home";
      all[e].reads.push_back(access(event.page, event.from, event.from_offset));
      all[e].writes.push_back(access(event.page, event.to, event.to_offset));
      continue;
    }
    if (event.op != next++) problem = "operation " + std::to_string(event.op) + " is out of order";
    const Operation& op = program.operations[static_cast<size_t>(event.op)];
    if (event.offsets.size() != op.uses.size() || event.lane != op.lane) problem = "an operation lacks offsets";
    for (size_t k = 0; k < op.uses.size(); ++k) {
      const Use& use = op.uses[k];
      if (use.access != Access::kMake) all[e].reads.push_back(access(use.page, op.tier, event.offsets[k]));
      if (use.access == Access::kRead) continue;
      version[use.page] = static_cast<uint32_t>(event.op) + 1;
      all[e].writes.push_back(access(use.page, op.tier, event.offsets[k]));
    }
  }
  if (static_cast<size_t>(next) != program.operations.size()) problem = "operations are missing";
  return all;
}

// The version of each page after the last operation.
inline std::vector<uint32_t> LastVersions(const Program& program) {
  std::vector<uint32_t> version(program.pages.size());
  for (size_t i = 0; i < program.operations.size(); ++i) {
    for (const Use& use : program.operations[i].uses) {
      if (use.access != Access::kRead) version[use.page] = static_cast<uint32_t>(i) + 1;
    }
  }
  return version;
}

}  // namespace tidemill::fakes
