#include "offload/engine.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"

namespace tidemill::offload {
namespace {

using swap_scheduler::Event;
using swap_scheduler::Lane;
using swap_scheduler::Operation;
using swap_scheduler::Tier;
using Clock = std::chrono::steady_clock;

constexpr std::array kThreadLanes{Lane::kAdam, Lane::kUpload, Lane::kDownload, Lane::kNvmeRead, Lane::kNvmeWrite};

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

}  // namespace

Engine::Engine(Store& store, gpu::Stream& compute, HostWork& host_work)
    : store_(store),
      compute_(compute),
      host_work_(host_work),
      upload_(store.device().NewStream("upload", {})),
      download_(store.device().NewStream("download", {})),
      lanes_idle_(kThreadLanes.size()) {
  try {
    for (const Lane lane : kThreadLanes) threads_.emplace_back([this, lane] { WorkLane(lane); });
  } catch (...) {  // the system has no thread left: those that started must end before they are forgotten
    Stop();
    throw;
  }
}

Engine::~Engine() { Stop(); }

void Engine::Stop() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  progress_.Fail({ErrorCode::kUnavailable, "the engine is being closed"});
  step_changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  (void)compute_.Synchronize();  // a failed step's operations still report to this engine
}

void Engine::StartStep(const Schedule& schedule) {
  {
    const std::scoped_lock lock(mutex_);
    TM_CHECK(lanes_idle_ == kThreadLanes.size());
    progress_.Restart();
    schedule_ = &schedule;
    report_ = {};
    compute_busy_ns_ = 0;
    compute_views_.resize(std::max<size_t>(compute_views_.size(), schedule.uses_max));
    adam_views_.resize(std::max<size_t>(adam_views_.size(), schedule.uses_max));
    lanes_idle_ = 0;
    ++step_;
  }
  step_changed_.notify_all();
}

Result<Lease> Engine::Begin(size_t op) {
  const auto& entry = schedule_->Lane(Lane::kCompute)[schedule_->place_in_lane[op]];
  if (!progress_.WaitFor(schedule_->Waits(entry))) return tl::make_unexpected(progress_.status().error());
  const Event& event = schedule_->plan->events[entry.event];
  TM_CHECK(event.op == static_cast<int32_t>(op));
  FillViews(event, compute_views_);
  compute_.Notify(OnComputeStarted, this);
  return Lease{{compute_views_.data(), event.offsets.size()}};
}

void Engine::End(size_t) { compute_.Notify(OnComputeEnded, this); }

void Engine::OnComputeStarted(void* context) { static_cast<Engine*>(context)->compute_started_ns_ = NowNs(); }

void Engine::OnComputeEnded(void* context) {
  auto& engine = *static_cast<Engine*>(context);
  engine.compute_busy_ns_ += NowNs() - engine.compute_started_ns_;
  engine.progress_.Finish(Lane::kCompute);
}

Result<StepReport> Engine::FinishStep() {
  const auto count = static_cast<uint32_t>(schedule_->Lane(Lane::kCompute).size());
  progress_.WaitForCount(Lane::kCompute, count);
  {
    std::unique_lock lock(mutex_);
    step_changed_.wait(lock, [this] { return lanes_idle_ == kThreadLanes.size(); });
  }
  TM_RETURN_IF_ERROR(compute_.Synchronize());
  TM_RETURN_IF_ERROR(progress_.status());
  report_.times[Lane::kCompute] = static_cast<double>(compute_busy_ns_) * 1e-9;
  return report_;
}

void Engine::WorkLane(Lane lane) {
  for (uint64_t seen = 0;;) {
    {
      std::unique_lock lock(mutex_);
      step_changed_.wait(lock, [&] { return stop_ || step_ != seen; });
      if (stop_) return;
      seen = step_;
    }
    double busy_seconds = 0;
    for (const auto& entry : schedule_->Lane(lane)) {
      if (!progress_.WaitFor(schedule_->Waits(entry))) break;
      const int64_t started_ns = NowNs();
      if (const Status status = Carry(lane, schedule_->plan->events[entry.event]); !status.has_value()) {
        progress_.Fail(status.error());
        break;
      }
      busy_seconds += static_cast<double>(NowNs() - started_ns) * 1e-9;
      progress_.Finish(lane);
    }
    {
      const std::scoped_lock lock(mutex_);
      report_.times[lane] = busy_seconds;
      ++lanes_idle_;
    }
    step_changed_.notify_all();
  }
}

Status Engine::Carry(Lane lane, const Event& event) {
  if (event.op < 0) return Move(lane, event);
  FillViews(event, adam_views_);
  host_work_.RunOnHost(schedule_->program->operations[static_cast<size_t>(event.op)],
                       {adam_views_.data(), event.offsets.size()});
  return Ok();
}

Status Engine::Move(Lane lane, const Event& event) {
  const uint64_t bytes = schedule_->program->pages[event.page].bytes;
  std::byte* const device = store_.DevicePages();
  std::byte* const host = store_.HostPages();
  switch (lane) {
    case Lane::kUpload:
      upload_->CopyToDevice(device + event.to_offset, {host + event.from_offset, bytes});
      report_.moved.upload += bytes;
      return upload_->Synchronize();
    case Lane::kDownload:
      download_->CopyToHost({host + event.to_offset, bytes}, device + event.from_offset);
      report_.moved.download += bytes;
      return download_->Synchronize();
    case Lane::kNvmeRead:
      report_.moved.nvme_read += bytes;
      return store_.swap()->ReadPage(event.page, {host + event.to_offset, bytes});
    case Lane::kNvmeWrite:
      report_.moved.nvme_write += bytes;
      return store_.swap()->WritePage(event.page, {host + event.from_offset, bytes});
    case Lane::kCompute:
    case Lane::kAdam:
      break;
  }
  TM_CHECK(false);
}

void Engine::FillViews(const Event& event, std::vector<std::byte*>& views) const {
  const Operation& op = schedule_->program->operations[static_cast<size_t>(event.op)];
  std::byte* const base = op.tier == Tier::kDevice ? store_.DevicePages() : store_.HostPages();
  for (size_t i = 0; i < event.offsets.size(); ++i) views[i] = base + event.offsets[i];
}

}  // namespace tidemill::offload
