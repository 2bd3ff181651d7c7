#include "train/committed_step.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gpu/host_device.h"
#include "train/preparation.h"

namespace tidemill::train {
namespace {

using nlohmann::ordered_json;
using swap_scheduler::Tier;

Result<CommittedRun> ParseCommittedRun(const std::string& text, const std::string& directory) {
  CommittedRun run;
  std::string state;
  try {
    const auto json = ordered_json::parse(text);
    json.at("model").get_to(run.model);
    json.at("freeze").get_to(run.freeze);
    json.at("tile_elements").get_to(run.tile_elements);
    state = json.at("state").dump();
  } catch (const ordered_json::exception& error) {
    return Fail(ErrorCode::kCorrupt, "the commit record is another version's (" + directory + "): " + error.what());
  }
  auto parsed = ParseTrainerState(state, directory);
  if (!parsed.has_value()) return Fail(ErrorCode::kCorrupt, parsed.error().message);
  run.state = std::move(*parsed);
  return run;
}

Result<std::optional<FoundCommit>> ReadCommit(const std::string& directory) {
  TM_ASSIGN_OR_RETURN(auto record, offload::ReadCommitRecord(directory));
  if (!record) return std::optional<FoundCommit>();
  TM_ASSIGN_OR_RETURN(CommittedRun run, ParseCommittedRun(record->run, directory));
  return FoundCommit{directory, std::move(run), std::move(*record)};
}

swap_scheduler::Placement AllOnNvme() {
  swap_scheduler::Placement placement;
  placement.params = placement.optimizer = placement.gradients = placement.activations = Everything(Tier::kNvme);
  return placement;
}

// Directories that were moved, or whose mount points changed places, are where their own records are.
void FollowMoves(std::vector<FoundCommit>& commits) {
  for (FoundCommit& commit : commits) {
    for (const FoundCommit& other : commits) {
      if (other.record.run == commit.record.run && other.record.files.size() == commit.record.files.size())
        commit.record.files[other.record.here].directory = other.directory;
    }
  }
}

}  // namespace

std::string FormatCommittedRun(const CommittedRun& run) {
  const ordered_json json{{"model", run.model},
                          {"freeze", run.freeze},
                          {"tile_elements", run.tile_elements},
                          {"state", ordered_json::parse(FormatTrainerState(run.state))}};
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

Result<FoundCommits> FindCommits(const std::vector<std::string>& directories) {
  FoundCommits found;
  for (const std::string& directory : directories) {
    auto commit = ReadCommit(directory);
    if (commit.has_value() && commit->has_value()) found.newest_first.push_back(std::move(**commit));
    if (commit.has_value()) continue;
    if (commit.error().code != ErrorCode::kCorrupt) return tl::make_unexpected(commit.error());
    found.damaged.push_back(commit.error().message);
  }
  FollowMoves(found.newest_first);
  std::stable_sort(
      found.newest_first.begin(), found.newest_first.end(),
      [](const FoundCommit& a, const FoundCommit& b) { return a.run.state.global_step > b.run.state.global_step; });
  return found;
}

Result<std::unique_ptr<CommittedStep>> CommittedStep::Open(FoundCommit commit) {
  std::unique_ptr<CommittedStep> step(new CommittedStep(std::move(commit)));
  const CommittedRun& run = step->commit_.run;
  TM_ASSIGN_OR_RETURN(step->files_, OpenModel(run.model, run.freeze, true));
  TM_ASSIGN_OR_RETURN(const std::string digest, ModelDigest(run.model));
  if (digest != run.state.model_digest)
    return Fail(ErrorCode::kInvalidArgument, "the model's folder has changed since the run (" + run.model +
                                                 "): put back the config.json that " + step->commit_.directory +
                                                 " was trained with");
  TM_RETURN_IF_ERROR(step->OpenState());
  return step;
}

Status CommittedStep::OpenState() {
  const CommittedRun& run = commit_.run;
  TM_ASSIGN_OR_RETURN(const DType dtype, DTypeFromTorchName(run.state.dtype));
  TM_ASSIGN_OR_RETURN(const cpu_adam::StateDtype state_dtype, cpu_adam::StateDtypeFromName(run.state.state_dtype));
  TM_ASSIGN_OR_RETURN(const DType master_dtype, DTypeFromTorchName(run.state.master_dtype));
  layout_ = swap_scheduler::LayOut(files_.tensors);
  swap_scheduler::StepShape shape = StateShapeOf(dtype, state_dtype, master_dtype);
  shape.tile_elements = run.tile_elements;
  auto built = swap_scheduler::EvaluationProgram(layout_, shape, AllOnNvme(), true);
  pages_ = std::move(built.pages);
  std::vector<offload::PageHome> homes;
  for (const swap_scheduler::Page& page : built.program.pages) {
    if (!page.persistent) break;
    homes.push_back({Tier::kNvme, 0, page.bytes});
    const size_t id = homes.size() - 1;
    if (id < commit_.record.pages.size() && commit_.record.pages[id].name == page.name &&
        commit_.record.pages[id].bytes() == page.bytes)
      continue;
    return Fail(ErrorCode::kCorrupt, "the commit record has another page in the place of " + page.name + " (" +
                                         commit_.directory +
                                         "): it is another version's; resume from the last checkpoint");
  }
  TM_ASSIGN_OR_RETURN(device_, gpu::MakeHostDevice({}, 1));
  TM_ASSIGN_OR_RETURN(store_, offload::Store::OverCommitted(*device_, std::move(homes), commit_.record));
  TM_ASSIGN_OR_RETURN(offload::ModelState state,
                      offload::ModelState::Create(*store_, layout_, pages_, dtype, state_dtype));
  state_ = std::make_unique<offload::ModelState>(std::move(state));
  return Ok();
}

SaveSource CommittedStep::Source(std::optional<DType> save_dtype, uint64_t max_shard_bytes) {
  return {&*files_.folder, &files_.tensors, state_.get(), save_dtype, max_shard_bytes};
}

}  // namespace tidemill::train
