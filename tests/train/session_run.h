// A training session step by step, for tests that look between the steps: the run's own pieces without its loop.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "train/config/run_config.h"
#include "train/machine.h"
#include "train/session.h"
#include "train/training_data.h"
#include "train/training_job.h"
#include "train/weights.h"

namespace tidemill::train {

class SessionRun {
 public:
  using Wrap = std::function<std::unique_ptr<gpu::Device>(std::unique_ptr<gpu::Device>)>;

  // Weights are loaded, nothing is trained. `wrap`: puts a fake around the device.
  static Result<std::unique_ptr<SessionRun>> Open(
      const RunConfig& config, const Wrap& wrap = [](std::unique_ptr<gpu::Device> device) { return device; }) {
    TM_ASSIGN_OR_RETURN(ModelFiles files, OpenModel(config.model, config.freeze, true));
    TM_ASSIGN_OR_RETURN(TrainingData data, TrainingData::Open(config, files));
    TM_ASSIGN_OR_RETURN(std::unique_ptr<gpu::Device> device, OpenDevice(config.tiers));
    device = wrap(std::move(device));
    TM_ASSIGN_OR_RETURN(Preparation preparation,
                        Prepare(std::move(files), config.tiers, TrainingJob(config, data, nullptr), *device,
                                DescribeMachine().usable_memory_bytes()));
    TM_ASSIGN_OR_RETURN(auto session, Session::Open(std::move(preparation), std::move(device), config.output_dir));
    TM_RETURN_IF_ERROR(LoadWeights(*session->preparation().files.folder, session->state(), true));
    return std::unique_ptr<SessionRun>(new SessionRun(std::move(data), std::move(session)));
  }

  Session& session() { return *session_; }
  Result<Window> Load(int64_t step) { return data_.Load(step); }

  // Step 0 is the first.
  Result<StepOutcome> Train(const Window& window, int64_t step) {
    UpdateRequest request;
    request.step.adam.learning_rate = 1e-3;
    request.step.step = step + 1;
    request.max_grad_norm = 1;
    request.supervised_tokens = window.supervised;
    return session_->Train(window.batches, request);
  }

 private:
  SessionRun(TrainingData data, std::unique_ptr<Session> session)
      : data_(std::move(data)), session_(std::move(session)) {}

  TrainingData data_;
  std::unique_ptr<Session> session_;
};

}  // namespace tidemill::train
