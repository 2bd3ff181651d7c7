// The last committed step in swap directories, when every persistent page lives there: what a run that was killed goes
// on from, and what `export --swap-dir` writes out. docs/SWAP_FORMAT.md.
//
//   Ownership   CommittedStep keeps every run out of the directories while it lives, and changes nothing in them.
//   Threads     one thread.
//   Errors      kUnavailable while the run lives; kCorrupt for records and swap files that are not what was written,
//               naming file and page; kInvalidArgument when the model's folder is not the one that was trained.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/device.h"
#include "offload/commit_record.h"
#include "offload/model_state.h"
#include "offload/store.h"
#include "train/checkpoint.h"
#include "train/model_files.h"
#include "train/trainer_state.h"

namespace tidemill::train {

// What a record keeps beside the bytes: what they mean, and where the run stood.
struct CommittedRun {
  std::string model;  // its folder, canonical
  std::vector<std::string> freeze;
  uint64_t tile_elements = 0;
  TrainerState state;
};

std::string FormatCommittedRun(const CommittedRun& run);

struct FoundCommit {
  std::string directory;
  CommittedRun run;
  offload::CommitRecord record;
};
struct FoundCommits {
  std::vector<FoundCommit> newest_first;
  std::vector<std::string> damaged;  // what is wrong with each of the other records
};
// What the records in the directories say is committed. Normally the same step in all of them.
Result<FoundCommits> FindCommits(const std::vector<std::string>& directories);

class CommittedStep {
 public:
  static Result<std::unique_ptr<CommittedStep>> Open(FoundCommit commit);

  const TrainerState& state() const { return commit_.run.state; }
  SaveSource Source(std::optional<DType> save_dtype, uint64_t max_shard_bytes);

 private:
  explicit CommittedStep(FoundCommit commit) : commit_(std::move(commit)) {}
  Status OpenState();

  const FoundCommit commit_;
  ModelFiles files_;
  swap_scheduler::PageLayout layout_;
  swap_scheduler::ProgramPages pages_;
  std::unique_ptr<gpu::Device> device_;
  std::unique_ptr<offload::Store> store_;
  std::unique_ptr<offload::ModelState> state_;
};

}  // namespace tidemill::train
