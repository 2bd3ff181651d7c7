#include "train/checkpoint.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <map>
#include <vector>

#include "base/atomic_file.h"
#include "data/companion_files.h"
#include "data/model_folder.h"
#include "data/output_directory.h"
#include "data/safetensors_reader.h"
#include "data/safetensors_writer.h"
#include "io/file_ops.h"
#include "train/signals.h"

namespace tidemill::train {
namespace {

namespace fs = std::filesystem;
using offload::ModelState;
using offload::Moment;
using swap_scheduler::ModelTensors;
using swap_scheduler::ParamPage;
using swap_scheduler::Segment;

constexpr std::string_view kPrefix = "checkpoint-", kPartial = ".partial";

struct StateFile {
  const char* name;
  Status (*read)(ModelState&, uint32_t page);
  Status (*write)(ModelState&, uint32_t page);
};
constexpr std::array kStateFiles{
    StateFile{"master", [](ModelState& state, uint32_t page) { return state.ReadMaster(page); },
              [](ModelState& state, uint32_t page) { return state.WriteMaster(page); }},
    StateFile{"exp_avg", [](ModelState& state, uint32_t page) { return state.ReadMoment(page, Moment::kExpAvg); },
              [](ModelState& state, uint32_t page) { return state.WriteMoment(page, Moment::kExpAvg); }},
    StateFile{"exp_avg_sq", [](ModelState& state, uint32_t page) { return state.ReadMoment(page, Moment::kExpAvgSq); },
              [](ModelState& state, uint32_t page) { return state.WriteMoment(page, Moment::kExpAvgSq); }},
};

std::string StatePath(const std::string& checkpoint, const StateFile& file) {
  return checkpoint + "/optimizer/" + file.name + ".safetensors";
}

// The trained tensors in the order in which their pages hold them.
std::vector<data::TensorSpec> TrainedTensors(const data::ModelFolder& folder, const ModelState& state) {
  std::vector<data::TensorSpec> specs;
  for (const ParamPage& page : state.layout().pages) {
    for (const Segment& segment : page.segments) {
      if (page.trainable && segment.tensor_offset == 0)
        specs.push_back({segment.tensor, DType::kF32, folder.Find(segment.tensor)->entry->shape});
    }
  }
  return specs;
}

Status SaveState(const SaveSource& source, const StateFile& file, const std::string& checkpoint) {
  ModelState& state = *source.state;
  TM_ASSIGN_OR_RETURN(
      data::SafetensorsWriter writer,
      data::SafetensorsWriter::Create(StatePath(checkpoint, file), TrainedTensors(*source.folder, state)));
  for (uint32_t page = 0; page < state.layout().pages.size(); ++page) {
    if (!state.layout().pages[page].trainable) continue;
    TM_RETURN_IF_ERROR(file.read(state, page));
    for (const Segment& segment : state.layout().pages[page].segments)
      TM_RETURN_IF_ERROR(writer.AppendFloats(state.values(page).subspan(segment.page_offset, segment.elements)));
  }
  return writer.Commit();
}

Status LoadState(const StateFile& file, const std::string& checkpoint, ModelState& state) {
  TM_ASSIGN_OR_RETURN(const data::SafetensorsReader reader, data::SafetensorsReader::Open(StatePath(checkpoint, file)));
  for (uint32_t page = 0; page < state.layout().pages.size(); ++page) {
    TM_RETURN_IF_ERROR(CheckNotStopped());
    if (!state.layout().pages[page].trainable) continue;
    const std::span<float> values = state.values(page);
    std::fill(values.begin(), values.end(), 0.0F);
    for (const Segment& segment : state.layout().pages[page].segments) {
      const data::TensorEntry* const entry = reader.Find(segment.tensor);
      if (entry == nullptr || entry->elements < segment.tensor_offset + segment.elements)
        return Fail(ErrorCode::kInvalidArgument,
                    "tensor " + segment.tensor + " is missing or too small (" + reader.path() +
                        "): it was frozen when the checkpoint was saved, or the checkpoint is another model's");
      TM_RETURN_IF_ERROR(
          reader.ReadAsFloat(*entry, segment.tensor_offset, values.subspan(segment.page_offset, segment.elements)));
    }
    TM_RETURN_IF_ERROR(file.write(state, page));
  }
  return Ok();
}

std::optional<int64_t> StepOf(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  int64_t step = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kPrefix.size(), end, step);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return step;
}

std::map<int64_t, std::string> Checkpoints(const std::string& output_dir) {
  std::map<int64_t, std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(output_dir, error)) {
    if (const auto step = StepOf(entry.path().filename())) found[*step] = entry.path();
  }
  return found;
}

Status FillCheckpoint(const SaveSource& source, const TrainerState& state, const std::string& directory) {
  TM_RETURN_IF_ERROR(data::MakeDirectory(directory + "/optimizer"));
  TM_RETURN_IF_ERROR(SaveModel(source, directory));
  for (const StateFile& file : kStateFiles) TM_RETURN_IF_ERROR(SaveState(source, file, directory));
  return WriteFileAtomically(directory + "/trainer_state.json", FormatTrainerState(state));
}

// Renames `partial` to `name`. What had that name is never missing and never half removed under it.
Status PutInPlace(const std::string& partial, const std::string& name) {
  std::error_code error;
  if (!fs::exists(name, error)) {
    fs::rename(partial, name, error);
  } else if (renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, name.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(partial, error);
    error.clear();
  } else {  // a file system that cannot exchange two names
    const std::string old = name + ".old" + std::string(kPartial);
    fs::remove_all(old, error);
    fs::rename(name, old, error);
    if (!error) fs::rename(partial, name, error);
    std::error_code ignored;
    if (!error) fs::remove_all(old, ignored);
  }
  if (error) return Fail(ErrorCode::kIo, "cannot rename the finished checkpoint (" + partial + "): " + error.message());
  return Ok();
}

// The oldest first, never the one of `kept_step`: folders of an earlier run may have higher steps.
void RemoveBeyond(int64_t limit, const std::string& output_dir, int64_t kept_step) {
  auto others = Checkpoints(output_dir);
  others.erase(kept_step);
  std::error_code error;
  for (; static_cast<int64_t>(others.size()) >= std::max<int64_t>(limit, 1); others.erase(others.begin())) {
    const std::string path = others.begin()->second, doomed = path + std::string(kPartial);
    fs::remove_all(doomed, error);
    fs::rename(path, doomed, error);  // half removed, it must not pass for a checkpoint
    fs::remove_all(error ? path : doomed, error);
  }
}

}  // namespace

Status SaveModel(const SaveSource& source, const std::string& directory) {
  TM_RETURN_IF_ERROR(data::MakeDirectory(directory));
  TM_RETURN_IF_ERROR(SaveWeights(*source.folder, *source.tensors, *source.state, source.save_dtype,
                                 source.max_shard_bytes, directory));
  return data::CopyCompanionFiles(source.folder->directory(), directory, source.save_dtype);
}

Status SaveCheckpoint(const SaveSource& source, const TrainerState& state, const std::string& output_dir,
                      std::optional<int64_t> total_limit) {
  const std::string name = output_dir + "/" + std::string(kPrefix) + std::to_string(state.global_step);
  const std::string partial = name + std::string(kPartial);
  std::error_code error;
  fs::remove_all(partial, error);
  if (Status status = FillCheckpoint(source, state, partial); !status.has_value()) {
    fs::remove_all(partial, error);  // a full disk gets its room back
    return status;
  }
  TM_RETURN_IF_ERROR(PutInPlace(partial, name));
  TM_RETURN_IF_ERROR(io::SyncDirectory(output_dir));
  if (total_limit) RemoveBeyond(*total_limit, output_dir, state.global_step);
  return Ok();
}

std::vector<std::string> CheckpointsNewestFirst(const std::string& output_dir) {
  std::vector<std::string> paths;
  for (const auto& [step, path] : Checkpoints(output_dir)) paths.insert(paths.begin(), path);
  return paths;
}

void RemovePartialCheckpoints(const std::string& output_dir) {
  std::error_code error;
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(output_dir, error)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(kPrefix) && name.ends_with(kPartial)) leftovers.push_back(entry.path());
  }
  for (const fs::path& path : leftovers) fs::remove_all(path, error);
}

Status CheckWhole(const std::string& checkpoint) {
  TM_RETURN_IF_ERROR(data::ModelFolder::Open(checkpoint));
  for (const StateFile& file : kStateFiles)
    TM_RETURN_IF_ERROR(data::SafetensorsReader::Open(StatePath(checkpoint, file)));
  return Ok();
}

Status LoadCheckpoint(const std::string& checkpoint, const data::ModelFolder& folder, ModelState& state) {
  TM_RETURN_IF_ERROR(LoadWeights(folder, state, false));
  for (const StateFile& file : kStateFiles) TM_RETURN_IF_ERROR(LoadState(file, checkpoint, state));
  return Ok();
}

}  // namespace tidemill::train
