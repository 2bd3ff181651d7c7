#include "swap_scheduler/program_check.h"

#include "base/check.h"

namespace tidemill::swap_scheduler {

void CheckProgram(const Program& program) {
  std::vector<bool> alive(program.pages.size());
  std::vector<size_t> used_by(program.pages.size(), program.operations.size());
  for (size_t page = 0; page < program.pages.size(); ++page) {
    const Page& p = program.pages[page];
    TM_CHECK(p.bytes > 0 && p.bytes % 4096 == 0);
    alive[page] = p.persistent;
  }
  for (size_t i = 0; i < program.operations.size(); ++i) {
    const Operation& op = program.operations[i];
    TM_CHECK(op.lane == (op.tier == Tier::kDevice ? Lane::kCompute : Lane::kAdam));
    TM_CHECK(op.tier != Tier::kNvme);
    TM_CHECK(i == 0 || op.phase_block >= program.operations[i - 1].phase_block);
    for (const Use& use : op.uses) {
      TM_CHECK(use.page < program.pages.size());
      TM_CHECK(used_by[use.page] != i);
      used_by[use.page] = i;
      TM_CHECK(alive[use.page] || use.access == Access::kMake);
      TM_CHECK(!use.dies || !program.pages[use.page].persistent);
      alive[use.page] = !use.dies;
    }
  }
  for (size_t page = 0; page < program.pages.size(); ++page) {
    TM_CHECK(alive[page] == program.pages[page].persistent);
  }
}

}  // namespace tidemill::swap_scheduler
