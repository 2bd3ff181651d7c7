// `tidemill plan`: what a run would need and move, without running it.
#include <cstdio>

#include "tools/commands.h"
#include "train/jobs.h"

namespace tidemill::tools {
namespace {

// A plan that does not fit is printed as well, and is an error then.
Status Run(const Flags& flags) {
  TM_ASSIGN_OR_RETURN(const train::PlanOptions options, train::ParsePlanOptions(flags));
  TM_ASSIGN_OR_RETURN(const train::PlanReport report, train::PlanRun(options));
  std::printf("%s", options.json ? (train::FormatPlanJson(report) + "\n").c_str() : train::FormatPlan(report).c_str());
  if (report.fits) return Ok();
  return Fail(ErrorCode::kDoesNotFit, report.smallest_change);
}

}  // namespace

const Command kPlan{"plan",
                    "--model DIR [train's flags]",
                    "What a run would need and move, without running it.",
                    [] { return train::RunFlags(train::RunKind::kPlan); },
                    0,
                    Run,
                    train::RunFlagAliases};

}  // namespace tidemill::tools
