// What a run leaves in its output folder while it goes on: metrics.jsonl, progress on stderr, results at the end.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "train/interpreter.h"
#include "train/memory_plan.h"
#include "train/metrics.h"
#include "train/progress.h"
#include "train/training_data.h"

namespace tidemill::train {

class RunRecord {
 public:
  // Keeps the metrics of steps up to `resumed_step` and cuts the rest, which will be trained again; 0 starts anew.
  static Result<std::unique_ptr<RunRecord>> Open(const std::string& output_dir, int64_t resumed_step,
                                                 int64_t total_steps);

  struct Step {
    int64_t step = 0;  // from 1
    const Window* window = nullptr;
    const StepOutcome* outcome = nullptr;  // null: skipped, nothing was supervised
    double learning_rate = 0, seconds = 0;
    const MemoryPlan* plan = nullptr;
  };
  Status LogStep(const Step& step, bool logged);
  Status LogEvaluation(int64_t step, double epoch, double loss, int64_t tokens);
  void Note(const std::string& text) { progress_->Note(text); }

  // train_results.json. One that an earlier run left stays if this one had no step to do.
  Status Finish(const std::string& output_dir, int64_t steps) const;

 private:
  explicit RunRecord(MetricsFile file) : file_(std::move(file)) {}

  MetricsFile file_;
  std::unique_ptr<Progress> progress_;
  double loss_total_ = 0, seconds_total_ = 0;
  int64_t steps_ = 0, trained_steps_ = 0, tokens_total_ = 0;  // of this process
};

}  // namespace tidemill::train
