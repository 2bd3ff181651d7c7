// A model ready to run: device, store, engine and interpreter behind one plan. What train, eval and generate share.
//
//   Ownership   owns all of it. Members are destroyed in reverse: the engine's lanes before the store, the store
//               before the device.
//   Threads     one thread.
//   Errors      kDoesNotFit, kUnavailable and kIo while opening; later those of the engine.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread_team.h"
#include "gpu/communicator.h"
#include "gpu/device.h"
#include "offload/engine.h"
#include "offload/model_state.h"
#include "offload/optimizer_pass.h"
#include "offload/store.h"
#include "train/interpreter.h"
#include "train/preparation.h"

namespace tidemill::train {

// The device that the flags name. Reserves nothing.
Result<std::unique_ptr<gpu::Device>> OpenDevice(const TierOptions& tiers);

class Session {
 public:
  // Allocates everything that the plan needs. Weights are not loaded yet: state() takes them.
  // `identity` is what the run claims its swap directories as.
  static Result<std::unique_ptr<Session>> Open(Preparation preparation, std::unique_ptr<gpu::Device> device,
                                               const std::string& identity);

  const Preparation& preparation() const { return preparation_; }
  const MemoryPlan& plan() const { return plan_; }
  offload::ModelState& state() { return *state_; }
  // Before the first Generate(): the caches' pages exist then wherever they live.
  Status ZeroCaches();

  // What had to fall back or will be slow, a line each.
  std::vector<std::string> Notes();

  bool UsesSwapFiles() const { return store_->swap() != nullptr; }
  // Whether every step can be committed: all that lives across steps is on nvme.
  bool CommitsEveryStep() const;
  // Makes what the last step left the committed step; `run`: train/committed_step.h.
  Status Commit(const std::string& run);
  // The swap files stay when the session ends, for a later run to go on from.
  void KeepSwapFiles();

  // `batches`: as many as one of the windows that were planned. With CommitsEveryStep() its bytes are durable after it.
  Result<StepOutcome> Train(std::span<const TokenBatch> batches, const UpdateRequest& request);
  // At most the planned number of batches.
  Result<StepOutcome> Evaluate(std::span<const TokenBatch> batches);
  Result<std::span<const float>> Generate(const TokenBatch& batch);

 private:
  Session(Preparation preparation, MemoryPlan plan, std::unique_ptr<gpu::Device> device);
  Status ReserveMemory(const std::string& identity);
  Status UploadRopeTables();
  offload::StoreConfig MakeStoreConfig() const;
  RunnableProgram TrainingProgram(size_t micro_batches) const;

  Preparation preparation_;
  MemoryPlan plan_;
  std::vector<std::string> notes_;
  std::vector<offload::Schedule> training_schedules_;
  std::vector<offload::Schedule> evaluation_schedules_;
  std::unique_ptr<gpu::Communicator> communicator_;
  std::unique_ptr<gpu::Device> device_;
  std::unique_ptr<offload::Store> store_;
  std::unique_ptr<offload::ModelState> state_;
  std::unique_ptr<DeviceBuffers> buffers_;
  std::unique_ptr<gpu::Stream> compute_;
  std::unique_ptr<ThreadTeam> adam_team_;
  std::unique_ptr<offload::OptimizerPass> optimizer_pass_;
  std::unique_ptr<offload::Engine> engine_;
  std::unique_ptr<Interpreter> interpreter_;
};

}  // namespace tidemill::train
