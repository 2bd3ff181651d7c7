#include "train/resume.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "data/output_directory.h"
#include "train/checkpoint.h"
#include "train/committed_step.h"
#include "train/weights.h"

namespace tidemill::train {
namespace {

namespace fs = std::filesystem;

// A key that decides what the numbers are: another value is another run.
Status CheckSame(const std::string& what, const std::string& now, const std::string& then,
                 const std::string& checkpoint) {
  if (now == then) return Ok();
  return Fail(ErrorCode::kInvalidArgument, what + " is " + now + " and was " + then + " (" + checkpoint +
                                               "): a resumed run keeps it; start anew in another --output-dir");
}

void AddNote(const std::string& text, std::string& note) { note += (note.empty() ? "" : "; ") + text; }

void NoteChange(const std::string& what, const std::string& now, const std::string& then, std::string& note) {
  if (now != then) AddNote(what + " changes from " + then + " to " + now, note);
}

// The newest checkpoint that can be continued. A disk may have lost a part of the last one.
std::optional<ResumePoint> NewestWhole(const std::string& output_dir, std::string& note) {
  RemovePartialCheckpoints(output_dir);
  for (const std::string& checkpoint : CheckpointsNewestFirst(output_dir)) {
    auto state = ReadTrainerState(checkpoint + "/trainer_state.json");
    const Status whole = state.has_value() ? CheckWhole(checkpoint) : tl::make_unexpected(state.error());
    if (whole.has_value()) return ResumePoint{checkpoint, std::move(*state)};
    AddNote("passing over " + checkpoint + ", which is not whole: " + whole.error().message, note);
  }
  return std::nullopt;
}

// Those of the directories that the last run of this output directory had.
Result<std::vector<std::string>> OwnDirectories(const RunConfig& config) {
  std::vector<std::string> own;
  for (const std::string& directory : config.tiers.swap_dirs) {
    TM_ASSIGN_OR_RETURN(const auto owner, io::ReadSwapOwner(directory));
    if (owner && owner->identity == RunIdentity(config)) own.push_back(directory);
  }
  return own;
}

std::string Describe(const FoundCommit& commit) {
  return "step " + std::to_string(commit.run.state.global_step) + ", committed in " + commit.directory + ",";
}

Status SaveAsCheckpoint(FoundCommit commit, const RunConfig& config) {
  TM_ASSIGN_OR_RETURN(const std::unique_ptr<CommittedStep> step, CommittedStep::Open(std::move(commit)));
  return SaveCheckpoint(step->Source(config.save_dtype, config.max_shard_bytes), step->state(), config.output_dir,
                        config.save_total_limit);
}

bool IsDamage(const Error& error) { return error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kNotFinite; }

// Saves the newest that is whole, if no whole checkpoint is as new. What is damaged is passed over for one that is
// whole; without any, the run is not started over what may yet be put right.
Status SaveNewest(FoundCommits found, const RunConfig& config, std::string& note) {
  std::string passed_over;  // FindResumePoint will say it
  const auto checkpoint = NewestWhole(config.output_dir, passed_over);
  bool whole = checkpoint.has_value();
  for (FoundCommit& commit : found.newest_first) {
    if (checkpoint && checkpoint->state.global_step >= commit.run.state.global_step) break;
    const std::string what = Describe(commit);
    const Status saved = SaveAsCheckpoint(std::move(commit), config);
    if (!saved.has_value() && !IsDamage(saved.error())) return saved;
    if (!saved.has_value()) {
      found.damaged.push_back(saved.error().message);
      continue;
    }
    AddNote(what + " is saved as a checkpoint", note);
    whole = true;
    break;
  }
  if (found.damaged.empty()) return Ok();
  if (whole) {
    AddNote("passing over a committed step: " + found.damaged.front(), note);
    return Ok();
  }
  return Fail(ErrorCode::kCorrupt, found.damaged.front() +
                                       "; there is no whole checkpoint, so nothing was touched: start anew without "
                                       "--resume-from-checkpoint if it cannot be mended");
}

}  // namespace

Status RecoverCommittedStep(const RunConfig& config, std::string& note) {
  TM_ASSIGN_OR_RETURN(const std::vector<std::string> own, OwnDirectories(config));
  TM_ASSIGN_OR_RETURN(FoundCommits found, FindCommits(own));
  if (config.resume == "auto") return SaveNewest(std::move(found), config, note);
  if (!found.newest_first.empty())
    AddNote("giving up " + Describe(found.newest_first.front()) +
                " with which --resume-from-checkpoint auto would have gone on",
            note);
  return Ok();
}

Status RemoveOwnSwapFiles(const RunConfig& config) {
  TM_ASSIGN_OR_RETURN(const std::vector<std::string> own, OwnDirectories(config));
  for (const std::string& directory : own) {
    TM_ASSIGN_OR_RETURN(io::SwapDirectory emptied,
                        io::SwapDirectory::Claim(directory, RunIdentity(config), io::LeftoverPolicy::kRefuse));
    TM_RETURN_IF_ERROR(emptied.Finish());
  }
  return Ok();
}

std::string RunIdentity(const RunConfig& config) { return fs::weakly_canonical(config.output_dir); }

Status PrepareOutputDirectory(const RunConfig& config, const ModelFiles& files, bool saves_checkpoints) {
  std::error_code error;
  fs::create_directories(config.output_dir, error);
  if (error || ::access(config.output_dir.c_str(), W_OK | X_OK) != 0)
    return Fail(ErrorCode::kInvalidArgument, "cannot write into the output directory (" + config.output_dir +
                                                 "): " + (error ? error.message() : std::strerror(errno)));
  const uint64_t weights = SavedBytes(files.tensors, *files.folder, config.save_dtype);
  const uint64_t state = saves_checkpoints ? weights + 12 * CountParameters(files.tensors, true) : 0;
  return data::RequireFreeSpace(config.output_dir, weights + state);
}

Result<std::optional<ResumePoint>> FindResumePoint(const RunConfig& config, const TrainerState& fresh,
                                                   std::string& note) {
  if (config.resume.empty()) {
    const auto earlier = CheckpointsNewestFirst(config.output_dir);
    if (!earlier.empty())
      note = "starting from the beginning beside an earlier run's " + earlier.front() +
             ", with which --resume-from-checkpoint auto would continue";
    return std::optional<ResumePoint>();
  }
  ResumePoint point{config.resume, {}};
  if (config.resume == "auto") {
    auto newest = NewestWhole(config.output_dir, note);
    if (!newest) {
      AddNote("no whole checkpoint in " + config.output_dir + ": starting from the beginning", note);
      return std::optional<ResumePoint>();
    }
    point = std::move(*newest);
  } else {
    TM_ASSIGN_OR_RETURN(point.state, ReadTrainerState(point.checkpoint + "/trainer_state.json"));
    TM_RETURN_IF_ERROR(CheckWhole(point.checkpoint));
  }
  const TrainerState& then = point.state;
  TM_RETURN_IF_ERROR(CheckSame("the model's digest", fresh.model_digest, then.model_digest, point.checkpoint));
  TM_RETURN_IF_ERROR(CheckSame("the training data's digest", fresh.data_digest, then.data_digest, point.checkpoint));
  TM_RETURN_IF_ERROR(CheckSame("--dtype", fresh.dtype, then.dtype, point.checkpoint));
  TM_RETURN_IF_ERROR(CheckSame("--seed", std::to_string(fresh.seed), std::to_string(then.seed), point.checkpoint));
  TM_RETURN_IF_ERROR(
      CheckSame("--shuffle", fresh.shuffle ? "true" : "false", then.shuffle ? "true" : "false", point.checkpoint));
  AddNote("continuing after step " + std::to_string(then.global_step) + " (" + point.checkpoint + ")", note);
  NoteChange("the number of steps", std::to_string(fresh.max_steps), std::to_string(then.max_steps), note);
  NoteChange("the batch size", std::to_string(fresh.train_batch_size), std::to_string(then.train_batch_size), note);
  NoteChange("gradient accumulation", std::to_string(fresh.accumulation_steps), std::to_string(then.accumulation_steps),
             note);
  NoteChange("the state's dtype", fresh.state_dtype, then.state_dtype, note);
  NoteChange("the master's dtype", fresh.master_dtype, then.master_dtype, note);
  return std::optional<ResumePoint>(std::move(point));
}

}  // namespace tidemill::train
