// Everything that is decided before a byte is allocated: model, pages, budgets, placement, plan. `tidemill plan` ends
// here.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "cpu_adam/state_encoding.h"
#include "gpu/device.h"
#include "train/config/tier_options.h"
#include "train/device_buffers.h"
#include "train/memory_plan.h"
#include "train/model_files.h"

namespace tidemill::train {

// What the steps of a job look like.
struct JobShape {
  std::vector<uint32_t> windows;  // micro-batches of each kind of training step, the full one first; empty: no training
  uint32_t evaluation_batches = 0;   // micro-batches of an evaluation or generation program; 0: none
  uint64_t rows = 0, sequences = 1;  // of the largest micro-batch
  uint64_t positions = 0;            // of the longest sequence
  uint64_t cache_rows = 0;           // capacity of the key-value caches; generation only
  bool recompute = true;
  std::optional<DType> dtype, grad_dtype;
  cpu_adam::StateDtype state_dtype = cpu_adam::StateDtype::kFp32;
  DType master_dtype = DType::kF32;  // bf16 only with bf16 compute: the param is the master
};

struct Preparation {
  ModelFiles files;
  TierOptions tiers;
  JobShape job;
  DType param_dtype = DType::kF32, grad_dtype = DType::kF32;
  swap_scheduler::PageLayout layout;
  BufferShape buffers;
  uint64_t device_fixed_bytes = 0, host_fixed_bytes = 0;
  TierLimits limits;
};

// `device` is asked for the workspace that its operations need; nothing is reserved on it.
Result<Preparation> Prepare(ModelFiles files, const TierOptions& tiers, const JobShape& job, const gpu::Device& device,
                            uint64_t available_bytes);

Result<MemoryPlan> PlanOf(const Preparation& preparation);

// What of a step's shape decides how the persistent pages are cut, but for the tiles.
swap_scheduler::StepShape StateShapeOf(DType param_dtype, cpu_adam::StateDtype state_dtype, DType master_dtype);

}  // namespace tidemill::train
