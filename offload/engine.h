// Carries a step's plan out: one thread for each lane, each doing its events in order, each event waiting for the
// events that the plan says it depends on. Nothing is decided here and nothing is allocated within a step.
//
//   for (op : program on the compute lane) { views = Begin(op); run it on compute(); End(op); }
//
//   Ownership   borrows the store and the device; owns the lanes' threads and streams.
//   Threads     StartStep, Begin, End, FinishStep: one thread, the compute lane's.
//   Errors      the first failure of any lane stops every lane; Begin() and FinishStep() return it. The engine is of no
//               more use then.
#pragma once

#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/result.h"
#include "offload/progress.h"
#include "offload/schedule.h"
#include "offload/store.h"

namespace tidemill::offload {

// What runs on the adam lane: the operations whose pages are in host memory.
class HostWork {
 public:
  virtual ~HostWork() = default;
  // Called by the adam lane's thread. views[i] is the page of the operation's use i.
  virtual void RunOnHost(const swap_scheduler::Operation& op, std::span<std::byte* const> views) = 0;
};

struct LaneTimes {
  std::array<double, swap_scheduler::kLanes> busy_seconds{};
  double& operator[](swap_scheduler::Lane lane) { return busy_seconds[static_cast<size_t>(lane)]; }
  double operator[](swap_scheduler::Lane lane) const { return busy_seconds[static_cast<size_t>(lane)]; }
};

struct StepReport {
  swap_scheduler::LaneBytes moved;
  LaneTimes times;
};

// The views of one operation, valid from Begin() to End(): meanwhile its pages do not move.
struct Lease {
  std::span<std::byte* const> views;  // of the operation's uses, in order
};

class Engine {
 public:
  // `compute`: the stream that operations run on.
  Engine(Store& store, gpu::Stream& compute, HostWork& host_work);
  ~Engine();
  Engine(const Engine&) = delete;

  // The schedule must outlive the step.
  void StartStep(const Schedule& schedule);
  Result<Lease> Begin(size_t op);
  void End(size_t op);
  // Waits for every lane; all pages are at home again.
  Result<StepReport> FinishStep();

 private:
  using Lane = swap_scheduler::Lane;

  void Stop();  // ends the lanes' threads
  void WorkLane(Lane lane);
  Status Carry(Lane lane, const swap_scheduler::Event& event);
  Status Move(Lane lane, const swap_scheduler::Event& event);
  void FillViews(const swap_scheduler::Event& event, std::vector<std::byte*>& views) const;
  static void OnComputeStarted(void* engine);
  static void OnComputeEnded(void* engine);

  Store& store_;
  gpu::Stream& compute_;
  HostWork& host_work_;
  std::unique_ptr<gpu::Stream> upload_, download_;
  Progress progress_;
  const Schedule* schedule_ = nullptr;
  std::vector<std::byte*> compute_views_, adam_views_;
  StepReport report_;
  int64_t compute_started_ns_ = 0, compute_busy_ns_ = 0;  // by the compute stream, read when it is idle

  std::mutex mutex_;
  std::condition_variable step_changed_;
  uint64_t step_ = 0;      // grows by one per step
  size_t lanes_idle_ = 0;  // lanes that have finished the current step
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tidemill::offload
