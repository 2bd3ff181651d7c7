// `tidemill export`: a Hugging Face folder from a checkpoint, in another dtype or other shards if asked.
#include <filesystem>

#include "base/byte_size.h"
#include "data/companion_files.h"
#include "data/model_folder.h"
#include "data/model_folder_writer.h"
#include "data/output_directory.h"
#include "train/committed_step.h"
#include "train/jobs.h"
#include "train/signals.h"

namespace tidemill::train {
namespace {

constexpr uint64_t kPieceElements = 1 << 18;

Status CopyTensor(const data::FolderTensor& tensor, data::ModelFolderWriter& writer, std::vector<float>& piece) {
  for (uint64_t done = 0; done < tensor.entry->elements; done += kPieceElements) {
    const auto part = std::span(piece).first(std::min(kPieceElements, tensor.entry->elements - done));
    TM_RETURN_IF_ERROR(tensor.file->ReadAsFloat(*tensor.entry, done, part));
    TM_RETURN_IF_ERROR(writer.AppendFloats(part));
  }
  return Ok();
}

// The fp32 masters where the checkpoint has them and more than its own dtype is asked for; else its weights.
Result<data::FolderTensor> Best(const data::ModelFolder& weights, const data::SafetensorsReader* masters,
                                const std::string& name) {
  if (masters != nullptr) {
    if (const data::TensorEntry* const entry = masters->Find(name)) return data::FolderTensor{masters, entry};
  }
  return weights.Get(name);
}

Status ExportCommitted(const ExportOptions& options) {
  TM_ASSIGN_OR_RETURN(FoundCommits commits, FindCommits({options.swap_dir}));
  if (!commits.damaged.empty()) return Fail(ErrorCode::kCorrupt, commits.damaged.front());
  if (commits.newest_first.empty())
    return Fail(ErrorCode::kInvalidArgument,
                "no step is committed in the swap directory (" + options.swap_dir +
                    "): only a run that has all its state on nvme commits; export a checkpoint of it");
  std::error_code missing;
  if (std::filesystem::equivalent(commits.newest_first.front().run.model, options.output_dir, missing))
    return Fail(ErrorCode::kInvalidArgument,
                "--output is the folder of the model that was trained (" + options.output_dir + "): give another");
  TM_ASSIGN_OR_RETURN(const std::unique_ptr<CommittedStep> step,
                      CommittedStep::Open(std::move(commits.newest_first.front())));
  const SaveSource source = step->Source(options.save_dtype, options.max_shard_bytes);
  TM_RETURN_IF_ERROR(data::MakeDirectory(options.output_dir));
  TM_RETURN_IF_ERROR(
      data::RequireFreeSpace(options.output_dir, SavedBytes(*source.tensors, *source.folder, source.save_dtype)));
  return SaveModel(source, options.output_dir);
}

}  // namespace

Status Export(const ExportOptions& options) {
  InstallSignalHandlers();
  if (!options.swap_dir.empty()) return ExportCommitted(options);
  TM_ASSIGN_OR_RETURN(const data::ModelFolder weights, data::ModelFolder::Open(options.checkpoint));
  auto masters = data::SafetensorsReader::Open(options.checkpoint + "/optimizer/master.safetensors");
  const data::SafetensorsReader* const exact = masters.has_value() ? &*masters : nullptr;
  std::vector<data::TensorSpec> specs;
  uint64_t bytes = 0;
  for (const data::FolderTensor& tensor : weights.tensors()) {
    specs.push_back({tensor.entry->name, options.save_dtype.value_or(tensor.entry->dtype), tensor.entry->shape});
    bytes += data::BytesOf(specs.back());
  }
  TM_ASSIGN_OR_RETURN(data::ModelFolderWriter writer,
                      data::ModelFolderWriter::Create(options.output_dir, specs, options.max_shard_bytes));
  TM_RETURN_IF_ERROR(data::RequireFreeSpace(options.output_dir, bytes));
  std::vector<float> piece(kPieceElements);
  for (const data::TensorSpec& spec : specs) {
    TM_RETURN_IF_ERROR(CheckNotStopped());
    TM_ASSIGN_OR_RETURN(const data::FolderTensor source, Best(weights, exact, spec.name));
    TM_RETURN_IF_ERROR(CopyTensor(source, writer, piece));
  }
  TM_RETURN_IF_ERROR(writer.Commit());
  return data::CopyCompanionFiles(options.checkpoint, options.output_dir, options.save_dtype);
}

}  // namespace tidemill::train
