// A proof that a plan is right in every legal order, not in one: any two events that touch the same bytes, at least one
// of them writing, are ordered by lanes and dependencies; and in list order each reads the version that it should.
#pragma once

#include <algorithm>
#include <array>

#include "tests/fakes/plan_accesses.h"

namespace tidemill::fakes {

class PlanProof {
 public:
  PlanProof(const Program& program, const Budgets& budgets, const Plan& plan)
      : program_(program), plan_(plan), accesses_(AccessesOf(program, plan, problem_)) {
    memory_[0].resize(budgets.device_bytes / kUnit);
    memory_[1].resize(budgets.host_bytes / kUnit);
    for (const Page& page : program.pages) stored_.emplace_back(page.bytes / kUnit);
    Order();
  }

  // Has the one ended in every legal order when the other starts?
  bool Precedes(EventId earlier, EventId later) const {
    return before_[later][static_cast<size_t>(plan_.events[earlier].lane)] > earlier;
  }

  // Empty if the plan is proven, else the first pair of events, or the version, that is wrong.
  std::string Run() {
    for (PageId page = 0; page < program_.pages.size(); ++page) {
      const Page& p = program_.pages[page];
      if (!p.persistent) continue;
      const uint64_t begin = p.home == Tier::kNvme ? 0 : plan_.home_offset[page] / kUnit;
      Each({p.home, page, begin, begin + p.bytes / kUnit, 0}, [&](Unit& unit, uint64_t k) { unit = {page, 0, k}; });
    }
    for (EventId e = 0; e < plan_.events.size() && problem_.empty(); ++e) {
      for (const PlanAccess& a : accesses_[e].reads) Each(a, [&](Unit& unit, uint64_t k) { Read(e, a, unit, k); });
      for (const PlanAccess& a : accesses_[e].writes) Each(a, [&](Unit& unit, uint64_t k) { Write(e, a, unit, k); });
    }
    return problem_;
  }

 private:
  static constexpr uint32_t kNobody = 0;  // event ids are kept plus one
  struct Unit {
    PageId page = ~PageId{0};
    uint32_t version = 0;
    uint64_t index = 0;
    uint32_t writer = kNobody;
    std::array<uint32_t, kLanes> readers{};
  };

  // before_[e][lane]: the last event of the lane, plus one, that has ended whenever e starts.
  void Order() {
    std::array<uint32_t, kLanes> last{};
    before_.resize(plan_.events.size());
    for (EventId e = 0; e < plan_.events.size(); ++e) {
      const auto take = [&](uint32_t d) {
        for (size_t l = 0; l < kLanes; ++l) before_[e][l] = std::max(before_[e][l], before_[d][l]);
        uint32_t& own = before_[e][static_cast<size_t>(plan_.events[d].lane)];
        own = std::max(own, d + 1);
      };
      uint32_t& previous = last[static_cast<size_t>(plan_.events[e].lane)];
      if (previous != kNobody) take(previous - 1);
      for (const EventId d : plan_.events[e].waits_for) take(d);
      previous = e + 1;
    }
  }

  void After(EventId e, uint32_t earlier) {
    if (earlier == kNobody || earlier - 1 == e) return;
    if (Precedes(earlier - 1, e)) return;
    problem_ = "event " + std::to_string(e) + " does not wait for event " + std::to_string(earlier - 1);
  }

  void Read(EventId e, const PlanAccess& a, Unit& unit, uint64_t index) {
    if (unit.page != a.page || unit.version != a.version || unit.index != index) {
      problem_ = "event " + std::to_string(e) + " does not find page " + std::to_string(a.page);
    }
    After(e, unit.writer);
    unit.readers[static_cast<size_t>(plan_.events[e].lane)] = e + 1;
  }

  void Write(EventId e, const PlanAccess& a, Unit& unit, uint64_t index) {
    After(e, unit.writer);
    for (const uint32_t reader : unit.readers) After(e, reader);
    unit = {a.page, a.version, index, e + 1};
  }

  template <typename Visit>
  void Each(const PlanAccess& a, Visit visit) {
    std::vector<Unit>& memory = a.tier == Tier::kNvme ? stored_[a.page] : memory_[static_cast<size_t>(a.tier)];
    if (a.end > memory.size()) problem_ = "page " + std::to_string(a.page) + " lies outside its memory";
    for (uint64_t u = a.begin; u < a.end && u < memory.size(); ++u) visit(memory[u], u - a.begin);
  }

  const Program& program_;
  const Plan& plan_;
  std::string problem_;
  std::vector<PlanAccesses> accesses_;
  std::vector<std::array<uint32_t, kLanes>> before_;
  std::array<std::vector<Unit>, 2> memory_;
  std::vector<std::vector<Unit>> stored_;
};

}  // namespace tidemill::fakes
