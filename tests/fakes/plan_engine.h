// An engine that carries a plan out in a memory that knows what every 4096 bytes hold, in one legal order of many:
// lanes run as far ahead of each other as their dependencies allow, at speeds drawn from a seed.
#pragma once

#include <array>
#include <optional>
#include <random>

#include "tests/fakes/plan_accesses.h"

namespace tidemill::fakes {

class PlanEngine {
 public:
  PlanEngine(const Program& program, const Budgets& budgets, const Plan& plan)
      : program_(program), plan_(plan), accesses_(AccessesOf(program, plan, problem_)) {
    memory_[0].resize(budgets.device_bytes / kUnit);
    memory_[1].resize(budgets.host_bytes / kUnit);
    for (const Page& page : program.pages) stored_.emplace_back(page.home == Tier::kNvme ? page.bytes / kUnit : 0);
    for (PageId page = 0; page < program.pages.size(); ++page) {
      if (program.pages[page].persistent) Fill(Home(page, 0));
    }
  }

  // Carries out one step; empty if all went well, else what went wrong first.
  std::string Run(uint64_t seed) {
    std::mt19937_64 random(seed);
    std::array<uint64_t, kLanes> speed{};
    for (uint64_t& s : speed) s = uint64_t{1} << (random() % 3 * 4);
    std::array<std::vector<EventId>, kLanes> queue;
    for (EventId e = 0; e < plan_.events.size(); ++e) queue[static_cast<size_t>(plan_.events[e].lane)].push_back(e);
    std::array<size_t, kLanes> head{};
    std::array<bool, kLanes> running{};
    std::vector<bool> ended(plan_.events.size());
    for (size_t left = plan_.events.size(); left > 0 && problem_.empty();) {
      std::array<uint64_t, kLanes> chance{};
      for (size_t lane = 0; lane < kLanes; ++lane) {
        if (head[lane] == queue[lane].size()) continue;
        bool may = true;
        for (const EventId d : plan_.events[queue[lane][head[lane]]].waits_for) may = may && ended[d];
        if (running[lane] || may) chance[lane] = speed[lane];
      }
      const auto lane = Draw(chance, random);
      if (!lane) return "deadlock";
      const EventId e = queue[*lane][head[*lane]];
      running[*lane] = !running[*lane];
      if (running[*lane]) {
        Begin(e);
      } else {
        End(e);
        ended[e] = true;
        ++head[*lane];
        --left;
      }
    }
    if (problem_.empty()) CheckHomes();
    return problem_;
  }

 private:
  static constexpr PageId kNothing = ~PageId{0};
  struct Unit {
    PageId page = kNothing;
    uint32_t version = 0;
    uint64_t index = 0;  // which unit of the page
    int readers = 0;
    bool written = false;
  };

  static std::optional<size_t> Draw(const std::array<uint64_t, kLanes>& chance, std::mt19937_64& random) {
    uint64_t total = 0;
    for (const uint64_t c : chance) total += c;
    if (total == 0) return std::nullopt;
    uint64_t pick = random() % total;
    size_t lane = 0;
    while (pick >= chance[lane]) pick -= chance[lane++];
    return lane;
  }

  PlanAccess Home(PageId page, uint32_t version) const {
    const Tier tier = program_.pages[page].home;
    const uint64_t begin = tier == Tier::kNvme ? 0 : plan_.home_offset[page] / kUnit;
    return {tier, page, begin, begin + program_.pages[page].bytes / kUnit, version};
  }

  std::vector<Unit>& MemoryOf(const PlanAccess& a) {
    return a.tier == Tier::kNvme ? stored_[a.page] : memory_[static_cast<size_t>(a.tier)];
  }

  template <typename Visit>
  void Each(const PlanAccess& a, Visit visit) {
    std::vector<Unit>& memory = MemoryOf(a);
    if (a.end > memory.size()) problem_ = Says(a, "lies outside its memory");
    for (uint64_t u = a.begin; u < a.end && u < memory.size(); ++u) visit(memory[u], u - a.begin);
  }

  std::string Says(const PlanAccess& a, const char* what) const {
    return "page " + std::to_string(a.page) + " in " + std::string(Name(a.tier)) + " " + what;
  }

  void Fill(const PlanAccess& a) {
    Each(a, [&](Unit& unit, uint64_t index) {
      if (unit.page != kNothing && unit.version == 0 && a.version == 0) problem_ = Says(a, "shares its home");
      unit = {.page = a.page, .version = a.version, .index = index};
    });
  }

  void CheckContent(const PlanAccess& a, const char* when) {
    Each(a, [&](const Unit& unit, uint64_t index) {
      if (unit.page != a.page || unit.version != a.version || unit.index != index) problem_ = Says(a, when);
    });
  }

  void Begin(EventId e) {
    for (const PlanAccess& a : accesses_[e].reads) {
      CheckContent(a, "is not the version that is read");
      Each(a, [&](Unit& unit, uint64_t) {
        if (unit.written) problem_ = Says(a, "is read while it is written");
        ++unit.readers;
      });
    }
    for (const PlanAccess& a : accesses_[e].writes) {
      const int own = Updates(e, a.page) ? 1 : 0;
      Each(a, [&](Unit& unit, uint64_t) {
        if (unit.written || unit.readers != own) problem_ = Says(a, "is written over what is in use");
        unit.written = true;
        unit.page = own ? unit.page : kNothing;
      });
    }
  }

  void End(EventId e) {
    for (const PlanAccess& a : accesses_[e].reads) {
      CheckContent(a, "changed while it was read");
      Each(a, [&](Unit& unit, uint64_t) { --unit.readers; });
    }
    for (const PlanAccess& a : accesses_[e].writes) Fill(a);
  }

  bool Updates(EventId e, PageId page) const {
    if (plan_.events[e].op < 0) return false;
    for (const PlanAccess& a : accesses_[e].reads) {
      if (a.page == page) return true;
    }
    return false;
  }

  void CheckHomes() {
    const std::vector<uint32_t> last = LastVersions(program_);
    for (PageId page = 0; page < program_.pages.size(); ++page) {
      if (program_.pages[page].persistent) CheckContent(Home(page, last[page]), "is not at home at the end");
    }
  }

  const Program& program_;
  const Plan& plan_;
  std::string problem_;
  std::vector<PlanAccesses> accesses_;
  std::array<std::vector<Unit>, 2> memory_;
  std::vector<std::vector<Unit>> stored_;
};

}  // namespace tidemill::fakes
