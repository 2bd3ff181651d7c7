// The jobs of the program: what the commands call. Each loads, runs, and says on stderr how it goes.
//
//   Threads   one job at a time in a process; it starts and joins its own threads.
//   Errors    as base/result.h: kDoesNotFit before anything is written, kInterrupted after a signal when all is saved.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"
#include "train/config/job_options.h"
#include "train/config/run_config.h"
#include "train/plan_report.h"

namespace tidemill::train {

// Fine-tunes: writes the output folder (docs/USER_GUIDE.md).
Status Train(const RunConfig& config);

struct EvalReport {
  double loss = 0;  // mean over the supervised tokens
  int64_t sequences = 0, tokens = 0, supervised_tokens = 0;
};
Result<EvalReport> Evaluate(const EvalOptions& options);

// Calls `text` with the continuation, piece by piece, each valid UTF-8.
Status Generate(const GenerateOptions& options, const std::function<void(std::string_view)>& text);

// A run that does not fit is a report too, with fits = false.
Result<PlanReport> PlanRun(const PlanOptions& options);

Status Export(const ExportOptions& options);

}  // namespace tidemill::train
