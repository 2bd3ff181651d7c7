#include "train/session.h"

#include <algorithm>

#include "base/byte_size.h"
#include "base/check.h"
#include "gpu/host_device.h"
#include "model/rope.h"
#include "train/machine.h"
#include "train/swap_preflight.h"
#include "train/swap_setup.h"

namespace tidemill::train {
namespace {

using offload::SwapPage;
using swap_scheduler::Page;
using swap_scheduler::Tier;

size_t ComputeThreads(const TierOptions& tiers) {
  return static_cast<size_t>(std::max<int64_t>(1, tiers.threads.value_or(DescribeMachine().cores_usable)));
}

// Pages of the same id in different programs share their place: it is as large as the largest of them.
void MergeSwapPages(const std::vector<Page>& pages, std::vector<SwapPage>& merged) {
  merged.resize(std::max(merged.size(), pages.size()));
  for (size_t id = 0; id < pages.size(); ++id) {
    if (pages[id].home != Tier::kNvme) continue;
    merged[id].name = pages[id].name;
    merged[id].bytes = std::max(merged[id].bytes, pages[id].bytes);
    merged[id].persistent = merged[id].persistent || pages[id].persistent;
  }
}

std::vector<offload::PageHome> HomesOf(const PlannedProgram& planned) {
  std::vector<offload::PageHome> homes;
  for (size_t id = 0; id < planned.built.program.pages.size(); ++id) {
    const Page& page = planned.built.program.pages[id];
    if (!page.persistent) break;
    homes.push_back({page.home, page.home == Tier::kNvme ? 0 : planned.plan.home_offset[id], page.bytes});
  }
  return homes;
}

// Every program finds the persistent pages in the same places.
void CheckSameHomes(const MemoryPlan& plan, const std::vector<offload::PageHome>& homes) {
  for (const auto* programs : {&plan.training, &plan.evaluation}) {
    for (const PlannedProgram& planned : *programs) {
      const auto others = HomesOf(planned);
      TM_CHECK(others.size() == homes.size());
      for (size_t id = 0; id < homes.size(); ++id)
        TM_CHECK(others[id].tier == homes[id].tier && others[id].offset == homes[id].offset);
    }
  }
}

// Budgets are the user's word; the kernel would take more than there is, and kill the run when it touches it. The host
// device's memory is this machine's.
Status CheckMachineHolds(const MemoryPlan& plan) {
  const uint64_t device = plan.peak_bytes[0], host = plan.peak_bytes[1];
  const Machine machine = DescribeMachine();
  const uint64_t available = machine.usable_memory_bytes();
  if (machine.memory_total_bytes == 0 || device + host <= available) return Ok();  // 0: the kernel does not say
  return Fail(ErrorCode::kDoesNotFit,
              "the run needs " + FormatBytes(device + host) + " of memory (device " + FormatBytes(device) + ", host " +
                  FormatBytes(host) + ") and " + FormatBytes(available) +
                  " are available: lower --device-memory or --host-memory, or give a --swap-dir");
}

}  // namespace

Result<std::unique_ptr<gpu::Device>> OpenDevice(const TierOptions& tiers) {
  return gpu::MakeHostDevice(tiers.device, ComputeThreads(tiers));
}

Session::Session(Preparation preparation, MemoryPlan plan, std::unique_ptr<gpu::Device> device)
    : preparation_(std::move(preparation)),
      plan_(std::move(plan)),
      communicator_(gpu::WorldOfOne()),
      device_(std::move(device)) {
  for (const PlannedProgram& planned : plan_.training)
    training_schedules_.push_back(offload::MakeSchedule(planned.built.program, planned.plan));
  for (const PlannedProgram& planned : plan_.evaluation)
    evaluation_schedules_.push_back(offload::MakeSchedule(planned.built.program, planned.plan));
}

Result<std::unique_ptr<Session>> Session::Open(Preparation preparation, std::unique_ptr<gpu::Device> device,
                                               const std::string& identity) {
  TM_ASSIGN_OR_RETURN(MemoryPlan plan, PlanOf(preparation));
  std::unique_ptr<Session> session(new Session(std::move(preparation), std::move(plan), std::move(device)));
  TM_RETURN_IF_ERROR(session->ReserveMemory(identity));
  const Preparation& prepared = session->preparation_;
  const auto& pages = session->plan_.Any().built.pages;
  session->compute_ = session->device_->NewStream("compute", session->buffers_->workspace());
  session->adam_team_ = std::make_unique<ThreadTeam>(ComputeThreads(prepared.tiers));
  session->optimizer_pass_ = std::make_unique<offload::OptimizerPass>(
      prepared.layout, pages,
      offload::OptimizerDtypes{prepared.param_dtype, prepared.grad_dtype, prepared.job.state_dtype},
      *session->adam_team_);
  session->engine_ = std::make_unique<offload::Engine>(*session->store_, *session->compute_, *session->optimizer_pass_);
  session->interpreter_ = std::make_unique<Interpreter>(InterpreterParts{
      prepared.files.config, prepared.layout, prepared.param_dtype, prepared.grad_dtype, prepared.job.cache_rows,
      *session->buffers_, *session->compute_, *session->communicator_, *session->engine_, *session->optimizer_pass_});
  TM_RETURN_IF_ERROR(session->UploadRopeTables());
  return session;
}

Status Session::ReserveMemory(const std::string& identity) {
  const uint64_t fixed = preparation_.device_fixed_bytes;
  TM_RETURN_IF_ERROR(CheckMachineHolds(plan_));
  if (plan_.peak_bytes[static_cast<size_t>(Tier::kNvme)] > 0) {
    TM_ASSIGN_OR_RETURN(notes_, CheckSwapDirectories(preparation_.tiers.swap_dirs));
  }
  TM_RETURN_IF_ERROR(device_->ReserveArena(plan_.peak_bytes[0]));
  offload::StoreConfig store_config = MakeStoreConfig();
  TM_ASSIGN_OR_RETURN(store_config.swap, MakeSwapConfig(preparation_.tiers, identity, notes_));
  TM_ASSIGN_OR_RETURN(store_, offload::Store::Create(*device_, std::move(store_config)));
  TM_ASSIGN_OR_RETURN(offload::ModelState state,
                      offload::ModelState::Create(*store_, preparation_.layout, plan_.Any().built.pages,
                                                  preparation_.param_dtype, preparation_.job.state_dtype));
  state_ = std::make_unique<offload::ModelState>(std::move(state));
  buffers_ = std::make_unique<DeviceBuffers>(device_->Arena(), preparation_.buffers);
  TM_CHECK(DeviceBuffers::Bytes(preparation_.buffers) == fixed);
  return Ok();
}

offload::StoreConfig Session::MakeStoreConfig() const {
  offload::StoreConfig config;
  config.device_pages_offset = preparation_.device_fixed_bytes;
  config.host_arena_bytes = plan_.peak_bytes[1] - preparation_.host_fixed_bytes;
  config.homes = HomesOf(plan_.Any());
  CheckSameHomes(plan_, config.homes);
  for (const auto* programs : {&plan_.training, &plan_.evaluation}) {
    for (const PlannedProgram& planned : *programs) MergeSwapPages(planned.built.program.pages, config.swap_pages);
  }
  return config;
}

Status Session::UploadRopeTables() {
  const model::ModelConfig& config = preparation_.files.config;
  const std::vector<float> frequencies = model::InverseFrequencies(config.rope, config.head_dim);
  std::vector<float> cosines(preparation_.buffers.positions * frequencies.size()), sines(cosines.size());
  model::FillRopeTables(frequencies, cosines, sines);
  compute_->CopyToDevice(reinterpret_cast<std::byte*>(buffers_->cosines()), std::as_bytes(std::span(cosines)));
  compute_->CopyToDevice(reinterpret_cast<std::byte*>(buffers_->sines()), std::as_bytes(std::span(sines)));
  return compute_->Synchronize();
}

Status Session::ZeroCaches() {
  for (const swap_scheduler::PageId page : plan_.Any().built.pages.cache) {
    TM_ASSIGN_OR_RETURN(const AlignedBuffer zeros, AlignedBuffer::Allocate(store_->PageBytes(page)));
    TM_RETURN_IF_ERROR(store_->Write(page, zeros.span()));
  }
  return Ok();
}

std::vector<std::string> Session::Notes() {
  std::vector<std::string> notes = notes_;
  if (store_->swap() == nullptr) return notes;
  for (const std::string& note : store_->swap()->notes()) {
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  }
  return notes;
}

RunnableProgram Session::TrainingProgram(size_t micro_batches) const {
  for (size_t i = 0; i < plan_.training.size(); ++i) {
    if (plan_.training[i].shape.micro_batches == micro_batches) return {&plan_.training[i], &training_schedules_[i]};
  }
  TM_CHECK(false);
}

bool Session::CommitsEveryStep() const { return UsesSwapFiles() && store_->AllOnNvme(); }

Status Session::Commit(const std::string& run) { return store_->swap()->Commit(run); }

void Session::KeepSwapFiles() { store_->swap()->KeepFiles(); }

Result<StepOutcome> Session::Train(std::span<const TokenBatch> batches, const UpdateRequest& request) {
  TM_ASSIGN_OR_RETURN(StepOutcome outcome, interpreter_->Train(TrainingProgram(batches.size()), batches, request));
  if (CommitsEveryStep()) TM_RETURN_IF_ERROR(store_->swap()->Flush());
  return outcome;
}

Result<StepOutcome> Session::Evaluate(std::span<const TokenBatch> batches) {
  return interpreter_->Evaluate({&plan_.evaluation.front(), &evaluation_schedules_.front()}, batches);
}

Result<std::span<const float>> Session::Generate(const TokenBatch& batch) {
  return interpreter_->Generate({&plan_.evaluation.front(), &evaluation_schedules_.front()}, batch);
}

}  // namespace tidemill::train
