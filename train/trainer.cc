// `tidemill train`: a run from its flags to its output folder. Whatever happens, the last whole save stays.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "base/atomic_file.h"
#include "train/checkpoint.h"
#include "train/committed_step.h"
#include "train/evaluator.h"
#include "train/jobs.h"
#include "train/machine.h"
#include "train/output_lock.h"
#include "train/planning.h"
#include "train/resume.h"
#include "train/run_record.h"
#include "train/session.h"
#include "train/signals.h"
#include "train/training_data.h"
#include "train/training_job.h"

namespace tidemill::train {
namespace {

using Clock = std::chrono::steady_clock;

class Trainer {
 public:
  static Result<std::unique_ptr<Trainer>> Open(const RunConfig& config);
  Status Run();
  // After a run that failed: what is committed and not saved stays in the swap directories, and `error` says so.
  void KeepCommittedStep(Error& error);

 private:
  Trainer(const RunConfig& config, TrainingData data, Schedule schedule)
      : config_(config), data_(std::move(data)), schedule_(schedule) {}

  Status OpenSession(ModelFiles files);
  Status LoadState();
  void NoteWhatIsUnusual() const;
  Status Step();
  Status TrainWindow(const Window& window, double learning_rate, StepOutcome& outcome);
  Status Commit();
  Status AfterStep(bool epoch_ended);
  Status Evaluate();
  Status SaveCheckpointNow();
  Status SaveOutput();
  Status StopIfAsked();

  const ModelFiles& files() const { return session_->preparation().files; }
  bool Due(const StepPeriod& period) const { return state_.global_step % period.Steps(data_.total_steps()) == 0; }
  SaveSource Source() {
    return {&*files().folder, &files().tensors, &session_->state(), config_.save_dtype, config_.max_shard_bytes};
  }

  const RunConfig& config_;
  TrainingData data_;
  const Schedule schedule_;
  OutputLock output_lock_;
  std::optional<SampleSource> evaluation_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<RunRecord> record_;
  TrainerState state_;
  int64_t checkpoint_step_ = -1;  // of the last checkpoint that this process saved
  int64_t committed_step_ = -1;   // the last one that it committed in the swap directories
  std::string model_path_;        // whatever becomes of the working directory and of links meanwhile
};

Result<TrainerState> FreshState(const RunConfig& config, const TrainingData& data) {
  TrainerState state;
  state.max_steps = data.total_steps();
  state.seed = config.seed;
  state.shuffle = config.shuffle;
  state.state_dtype = cpu_adam::StateDtypeName(config.state_dtype);
  state.master_dtype = config.master_dtype == DType::kBf16 ? "bf16" : "fp32";
  state.dtype = TorchName(config.dtype.value_or(DType::kF32));
  state.train_batch_size = config.train_batch_size;
  state.accumulation_steps = config.accumulation_steps;
  TM_ASSIGN_OR_RETURN(state.model_digest, ModelDigest(config.model));
  TM_ASSIGN_OR_RETURN(state.data_digest, DataDigest(config.train_data));
  return state;
}

Result<std::unique_ptr<Trainer>> Trainer::Open(const RunConfig& config) {
  TM_ASSIGN_OR_RETURN(ModelFiles files, OpenModel(config.model, config.freeze, true));
  TM_ASSIGN_OR_RETURN(TrainingData data, TrainingData::Open(config, files));
  TM_ASSIGN_OR_RETURN(const Schedule schedule, Schedule::Create(config.schedule, config.learning_rate, config.warmup,
                                                                config.schedule_options, data.total_steps()));
  std::unique_ptr<Trainer> trainer(new Trainer(config, std::move(data), schedule));
  std::error_code error;
  trainer->model_path_ = std::filesystem::canonical(config.model, error);
  if (error)
    return Fail(ErrorCode::kInvalidArgument, "cannot find the model (" + config.model + "): " + error.message());
  if (!config.eval_data.empty()) {
    TM_ASSIGN_OR_RETURN(trainer->evaluation_,
                        SampleSource::Open(files, {config.eval_data}, config.max_length, config.dataset_format));
    TM_RETURN_IF_ERROR(CheckSupervised(*trainer->evaluation_));
  }
  TM_RETURN_IF_ERROR(PrepareOutputDirectory(config, files, config.save_when != SaveWhen::kNever));
  TM_ASSIGN_OR_RETURN(trainer->output_lock_, OutputLock::Take(config.output_dir));
  TM_RETURN_IF_ERROR(CheckNotStopped());
  std::string note;
  const Status recovered = RecoverCommittedStep(config, note);
  if (!note.empty()) std::fprintf(stderr, "%s\n", note.c_str());
  TM_RETURN_IF_ERROR(recovered);
  TM_RETURN_IF_ERROR(trainer->OpenSession(std::move(files)));
  if (!trainer->session_->UsesSwapFiles()) TM_RETURN_IF_ERROR(RemoveOwnSwapFiles(config));
  TM_RETURN_IF_ERROR(trainer->LoadState());
  return trainer;
}

Status Trainer::OpenSession(ModelFiles files) {
  TM_ASSIGN_OR_RETURN(std::unique_ptr<gpu::Device> device, OpenDevice(config_.tiers));
  const JobShape job = TrainingJob(config_, data_, evaluation_ ? &*evaluation_ : nullptr);
  const uint64_t available = DescribeMachine().usable_memory_bytes();
  TM_ASSIGN_OR_RETURN(Preparation preparation, Prepare(std::move(files), config_.tiers, job, *device, available));
  TM_ASSIGN_OR_RETURN(session_, Session::Open(std::move(preparation), std::move(device), RunIdentity(config_)));
  return Ok();
}

Status Trainer::LoadState() {
  TM_ASSIGN_OR_RETURN(state_, FreshState(config_, data_));
  std::string note;
  TM_ASSIGN_OR_RETURN(const std::optional<ResumePoint> point, FindResumePoint(config_, state_, note));
  if (point) {
    state_.global_step = point->state.global_step;
    state_.applied_steps = point->state.applied_steps;
    state_.epoch = point->state.epoch;
    TM_RETURN_IF_ERROR(LoadCheckpoint(point->checkpoint, *files().folder, session_->state()));
  } else {
    TM_RETURN_IF_ERROR(LoadWeights(*files().folder, session_->state(), true));
  }
  TM_ASSIGN_OR_RETURN(record_, RunRecord::Open(config_.output_dir, state_.global_step, data_.total_steps()));
  if (!note.empty()) record_->Note(note);
  for (const std::string& fallback : session_->Notes()) record_->Note(fallback);
  NoteWhatIsUnusual();
  std::fputs(FormatPlan(ReportOf(session_->preparation(), &session_->plan(), "")).c_str(), stderr);
  return CheckNotStopped();
}

void Trainer::NoteWhatIsUnusual() const {
  if (const uint64_t count = data_.source().special_tokens_in_texts(); count > 0)
    record_->Note("the training texts spell out " + std::to_string(count) + " special tokens (" +
                  config_.train_data.front() + (config_.train_data.size() > 1 ? ", ..." : "") +
                  "): each is read as that token");
  if (state_.global_step >= data_.total_steps())
    record_->Note("nothing to train: step " + std::to_string(state_.global_step) + " is done, and the run has " +
                  std::to_string(data_.total_steps()) + " (--max-steps, --num-train-epochs)");
}

Status Trainer::Run() {
  while (state_.global_step < data_.total_steps()) TM_RETURN_IF_ERROR(Step());
  TM_RETURN_IF_ERROR(SaveOutput());  // before an evaluation that may fail or be stopped
  TM_RETURN_IF_ERROR(record_->Finish(config_.output_dir, state_.global_step));
  if (evaluation_ && config_.eval_when == EvalWhen::kEnd) TM_RETURN_IF_ERROR(Evaluate());
  return StopIfAsked();
}

Status Trainer::Step() {
  const auto started = Clock::now();
  TM_ASSIGN_OR_RETURN(const Window window, data_.Load(state_.global_step));
  const double learning_rate = schedule_.LearningRate(state_.applied_steps);
  StepOutcome outcome;
  const bool supervised = window.supervised > 0;
  if (supervised) TM_RETURN_IF_ERROR(TrainWindow(window, learning_rate, outcome));
  ++state_.global_step;
  state_.applied_steps += supervised ? 1 : 0;
  state_.epoch = window.epoch;
  const double seconds = std::chrono::duration<double>(Clock::now() - started).count();
  const bool logged = Due(config_.logging) || state_.global_step == data_.total_steps();
  TM_RETURN_IF_ERROR(record_->LogStep(
      {state_.global_step, &window, supervised ? &outcome : nullptr, learning_rate, seconds, &session_->plan()},
      logged));
  TM_RETURN_IF_ERROR(Commit());  // after the log: a step that is trained again is logged again, and none is missing
  return AfterStep(window.ends_epoch);
}

Status Trainer::TrainWindow(const Window& window, double learning_rate, StepOutcome& outcome) {
  UpdateRequest request;
  request.step.adam = {learning_rate, config_.adam_beta1, config_.adam_beta2, config_.adam_epsilon};
  request.step.weight_decay = config_.weight_decay;
  request.step.step = state_.applied_steps + 1;
  request.step.seed = config_.seed;
  request.max_grad_norm = config_.max_grad_norm;
  request.supervised_tokens = window.supervised;
  TM_ASSIGN_OR_RETURN(outcome, session_->Train(window.batches, request));
  if (outcome.applied) return Ok();
  return Fail(
      ErrorCode::kNotFinite,
      "the loss or the gradient is not finite (step " + std::to_string(state_.global_step + 1) + ", loss sum " +
          std::to_string(outcome.loss_sum) + ", gradient norm " + std::to_string(outcome.grad_norm) +
          "): the step was not applied; lower --learning-rate, check the data, or resume from the last checkpoint");
}

Status Trainer::Commit() {
  if (!session_->CommitsEveryStep()) return Ok();
  TM_RETURN_IF_ERROR(session_->Commit(
      FormatCommittedRun({model_path_, config_.freeze, session_->plan().shape.tile_elements, state_})));
  committed_step_ = state_.global_step;
  return Ok();
}

void Trainer::KeepCommittedStep(Error& error) {
  if (committed_step_ <= checkpoint_step_) return;
  session_->KeepSwapFiles();
  error.message += "; step " + std::to_string(committed_step_) + " is committed (" + config_.tiers.swap_dirs.front() +
                   "): --resume-from-checkpoint auto goes on after it if it is whole";
}

Status Trainer::AfterStep(bool epoch_ended) {
  if (evaluation_ && ((config_.eval_when == EvalWhen::kSteps && Due(config_.eval)) ||
                      (config_.eval_when == EvalWhen::kEpoch && epoch_ended)))
    TM_RETURN_IF_ERROR(Evaluate());
  const bool save = (config_.save_when == SaveWhen::kSteps && Due(config_.save)) ||
                    (config_.save_when == SaveWhen::kEpoch && epoch_ended);
  if (save || TakeSaveRequest()) TM_RETURN_IF_ERROR(SaveCheckpointNow());
  return StopIfAsked();
}

Status Trainer::StopIfAsked() {
  if (!StopRequested()) return Ok();
  if (checkpoint_step_ != state_.global_step) TM_RETURN_IF_ERROR(SaveCheckpointNow());
  TM_RETURN_IF_ERROR(SaveOutput());
  return Fail(ErrorCode::kInterrupted, "stopped by a signal after step " + std::to_string(state_.global_step) + " (" +
                                           config_.output_dir + "): saved; --resume-from-checkpoint auto continues");
}

Status Trainer::Evaluate() {
  const auto result = EvaluateAll(*session_, *evaluation_, config_.eval_batch_size);
  if (result.has_value())
    return record_->LogEvaluation(state_.global_step, state_.epoch, result->loss, result->supervised_tokens);
  // A signal ends the evaluation; the caller saves what was trained and stops.
  return result.error().code == ErrorCode::kInterrupted ? Ok() : tl::make_unexpected(result.error());
}

Status Trainer::SaveCheckpointNow() {
  TM_RETURN_IF_ERROR(SaveCheckpoint(Source(), state_, config_.output_dir, config_.save_total_limit));
  checkpoint_step_ = state_.global_step;
  record_->Note("saved checkpoint-" + std::to_string(state_.global_step));
  return Ok();
}

Status Trainer::SaveOutput() {
  TM_RETURN_IF_ERROR(SaveModel(Source(), config_.output_dir));
  return WriteFileAtomically(config_.output_dir + "/trainer_state.json", FormatTrainerState(state_));
}

}  // namespace

Status Train(const RunConfig& config) {
  InstallSignalHandlers();
  TM_ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer, Trainer::Open(config));
  Status status = trainer->Run();
  if (!status.has_value()) trainer->KeepCommittedStep(status.error());
  return status;
}

}  // namespace tidemill::train
