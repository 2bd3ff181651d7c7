// Step programs for the planner's tests: by hand, at random, and shaped like the training of a transformer.
#pragma once

#include <algorithm>
#include <random>
#include <string>

#include "swap_scheduler/plan.h"

namespace tidemill::fakes {

using namespace swap_scheduler;

// Writes programs down briefly: sizes in units of 4096 bytes.
class ProgramWriter {
 public:
  PageId Add(Kind kind, Tier home, bool persistent, uint64_t units) {
    const auto id = static_cast<PageId>(program_.pages.size());
    program_.pages.push_back({"page " + std::to_string(id), kind, home, persistent, units * 4096});
    return id;
  }
  PageId Persistent(Tier home, uint64_t units = 1) { return Add(Kind::kParam, home, true, units); }
  PageId Transient(Tier home, uint64_t units = 1) { return Add(Kind::kActivation, home, false, units); }

  Operation& On(Tier tier, uint32_t phase_block, std::vector<Use> uses,
                OperationKind kind = OperationKind::kBlockForward) {
    const Lane lane = tier == Tier::kDevice ? Lane::kCompute : Lane::kAdam;
    program_.operations.push_back({.kind = kind, .lane = lane, .tier = tier, .phase_block = phase_block});
    program_.operations.back().uses = std::move(uses);
    return program_.operations.back();
  }

  const Program& program() const { return program_; }

 private:
  Program program_;
};

// Bytes of a tier that no plan can do without: persistent homes, and the largest operation beside them.
inline uint64_t HomeBytes(const Program& program, Tier tier) {
  uint64_t bytes = 0;
  for (const Page& page : program.pages) bytes += page.persistent && page.home == tier ? page.bytes : 0;
  return bytes;
}

inline uint64_t LargestOperation(const Program& program, Tier tier) {
  uint64_t largest = 0;
  for (const Operation& op : program.operations) {
    uint64_t bytes = 0;
    for (const Use& use : op.uses) {
      const Page& page = program.pages[use.page];
      if (op.tier == tier && !(page.persistent && page.home == tier)) bytes += page.bytes;
    }
    largest = std::max(largest, bytes);
  }
  return largest;
}

inline uint64_t LargestPage(const Program& program) {
  uint64_t largest = 0;
  for (const Page& page : program.pages) largest = std::max(largest, page.bytes);
  return largest;
}

// Any operations on any pages that keep a program's rules.
inline Program RandomProgram(std::mt19937_64& random, const std::vector<Tier>& transient_homes) {
  const auto below = [&](uint64_t n) { return random() % n; };
  ProgramWriter w;
  constexpr std::array kTierList{Tier::kDevice, Tier::kHost, Tier::kNvme};
  std::vector<PageId> alive, dead;
  for (uint64_t n = 2 + below(9); n > 0; --n) alive.push_back(w.Persistent(kTierList[below(3)], 1 + below(4)));
  for (uint64_t n = below(7); n > 0; --n) {
    dead.push_back(w.Transient(transient_homes[below(transient_homes.size())], 1 + below(4)));
  }
  uint32_t phase_block = 0;
  for (uint64_t n = 5 + below(56); n > 0; --n) {
    std::vector<Use> uses;
    std::shuffle(alive.begin(), alive.end(), random);
    const uint64_t most = std::min<uint64_t>(alive.size(), 1 + below(3));
    for (uint64_t k = 0; k < most; ++k) {
      const PageId page = alive[k];
      const uint64_t dice = below(8);
      const Access access = dice < 5 ? Access::kRead : dice < 7 ? Access::kUpdate : Access::kMake;
      const bool dies = !w.program().pages[page].persistent && below(3) == 0;
      uses.push_back({page, access, dies});
      if (dies) dead.push_back(page);
    }
    std::erase_if(alive, [&](PageId page) { return std::find(dead.begin(), dead.end(), page) != dead.end(); });
    if (!dead.empty() && below(2) == 0) {
      const PageId page = dead[below(dead.size())];
      const bool used = std::any_of(uses.begin(), uses.end(), [&](const Use& use) { return use.page == page; });
      if (!used) {
        uses.push_back({page, Access::kMake});
        alive.push_back(page);
        std::erase(dead, page);
      }
    }
    phase_block += below(3) == 0 ? 1 : 0;
    w.On(below(3) == 0 ? Tier::kHost : Tier::kDevice, phase_block, uses);
  }
  for (const PageId page : alive) {
    if (!w.program().pages[page].persistent) w.On(Tier::kDevice, phase_block, {{page, Access::kRead, true}});
  }
  return w.program();
}

}  // namespace tidemill::fakes
