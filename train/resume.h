// How a run begins: its output folder, and where it goes on if it was there before.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "train/config/run_config.h"
#include "train/model_files.h"
#include "train/trainer_state.h"

namespace tidemill::train {

// What the run claims its swap directories as: the same when it is resumed.
std::string RunIdentity(const RunConfig& config);

// Makes the folder and checks that it can be written and has room for what the run will save. kDoesNotFit says what is
// missing.
Status PrepareOutputDirectory(const RunConfig& config, const ModelFiles& files, bool saves_checkpoints);

// What an earlier run of this output directory, which was killed, left committed in the swap directories: with
// --resume-from-checkpoint auto it becomes a checkpoint of its step, if that is newer than every whole one. Before the
// run claims the directories, which empties them. What is passed over or given up is in `note`.
Status RecoverCommittedStep(const RunConfig& config, std::string& note);

// Removes what an earlier run of this output directory left in the swap directories: for a run that claims none.
Status RemoveOwnSwapFiles(const RunConfig& config);

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
