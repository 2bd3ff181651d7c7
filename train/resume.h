// How a run begins: its output folder, and where it goes on if it was there before.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "train/config/run_config.h"
#include "train/model_files.h"
#include "train/trainer_state.h"

namespace tidemill::train {

// Makes the folder and checks that it can be written and has room for what the run will save. kDoesNotFit says what is
// missing.
Status PrepareOutputDirectory(const RunConfig& config, const ModelFiles& files, bool saves_checkpoints);

struct ResumePoint {
  std::string checkpoint;
  TrainerState state;
};

// What --resume-from-checkpoint means for this run: nothing to resume (auto says so in `note`), or a whole checkpoint
// of the same model, data, dtype and seed. What may change and did is in `note` too. kInvalidArgument for another run's
// checkpoint.
Result<std::optional<ResumePoint>> FindResumePoint(const RunConfig& config, const TrainerState& fresh,
                                                   std::string& note);

}  // namespace tidemill::train
