#include "train/preparation.h"

#include <algorithm>

#include "base/byte_size.h"
#include "base/check.h"
#include "model/batch_view.h"
#include "model/head.h"
#include "model/layer.h"
#include "offload/model_state.h"
#include "train/tier_limits.h"

namespace tidemill::train {
namespace {

using swap_scheduler::PageLayout;
using swap_scheduler::StepShape;

constexpr uint64_t kTileGrain = 1024;  // elements
static_assert(kTileGrain % cpu_adam::kMomentBlock == 0);
static_assert(swap_scheduler::kSegmentAlignment % cpu_adam::kMomentBlock == 0);

uint64_t Bytes(int64_t floats) { return static_cast<uint64_t>(floats) * sizeof(float); }

uint64_t TrainedSegments(const PageLayout& layout) {
  uint64_t segments = 0;
  for (const auto& page : layout.pages) segments += page.trainable ? page.segments.size() : 0;
  return segments;
}

BufferShape BuffersOf(const Preparation& preparation, const gpu::Device& device) {
  const model::ModelConfig& config = preparation.files.config;
  const JobShape& job = preparation.job;
  const auto rows = static_cast<int64_t>(job.rows);
  BufferShape shape;
  shape.workspace_bytes = device.WorkspaceBytes(
      model::WorkspaceLimitsOf(config, rows, static_cast<int64_t>(job.sequences), preparation.param_dtype));
  const int64_t layer = job.cache_rows > 0 ? model::CachedScratchFloats(config, rows)
                                           : model::LayerScratchFloats(config, rows) + model::KeptFloats(config, rows);
  shape.scratch_floats = static_cast<uint64_t>(std::max(layer, model::HeadScratchFloats(config, rows)));
  shape.rows = job.rows;
  shape.sequences = job.sequences;
  shape.micro_batches = job.evaluation_batches;
  for (const uint32_t window : job.windows) shape.micro_batches = std::max<uint64_t>(shape.micro_batches, window);
  shape.positions = job.positions;
  shape.rotary_pairs = static_cast<uint64_t>(config.head_dim / 2);
  shape.square_sums = TrainedSegments(preparation.layout);
  shape.logits = job.cache_rows > 0 ? static_cast<uint64_t>(config.vocabulary) : 0;
  return shape;
}

swap_scheduler::MomentSize MomentSizeOf(cpu_adam::StateDtype dtype) {
  swap_scheduler::MomentSize size;
  size.block_elements = cpu_adam::kMomentBlock;
  const uint64_t block_bytes = cpu_adam::MomentBytes(dtype, cpu_adam::kMomentBlock);
  size.element_bytes = block_bytes / cpu_adam::kMomentBlock;
  size.block_bytes = block_bytes % cpu_adam::kMomentBlock;
  return size;
}

StepShape ShapeOf(const Preparation& preparation) {
  const model::ModelConfig& config = preparation.files.config;
  const JobShape& job = preparation.job;
  const auto rows = static_cast<int64_t>(job.rows);
  const uint64_t padded_rows = AlignUp(job.rows, 16);
  StepShape shape = StateShapeOf(preparation.param_dtype, job.state_dtype, job.master_dtype);
  shape.recompute = job.recompute;
  shape.grad_bytes = SizeOf(preparation.grad_dtype);
  if (preparation.tiers.tile_size)
    shape.tile_elements = std::max(kTileGrain, *preparation.tiers.tile_size / sizeof(float) / kTileGrain * kTileGrain);
  shape.boundary_bytes = Bytes(rows * config.hidden);
  shape.kept_bytes = Bytes(model::KeptFloats(config, rows));
  shape.head_state_bytes = padded_rows * static_cast<uint64_t>(config.hidden + 4) * sizeof(float);
  shape.logits_bytes = Bytes(model::HeadLogitsFloats(rows, model::VocabularySliceRows(config)));
  shape.cache_bytes = 2 * AlignUp(job.cache_rows * static_cast<uint64_t>(config.kv_columns()), 16) * sizeof(float);
  return shape;
}

}  // namespace

Result<Preparation> Prepare(ModelFiles files, const TierOptions& tiers, const JobShape& job, const gpu::Device& device,
                            uint64_t available_bytes) {
  // Offsets into a batch are 32-bit, and every size below is a product with its rows.
  if (std::max(job.rows, job.positions) > static_cast<uint64_t>(INT32_MAX))
    return Fail(ErrorCode::kInvalidArgument, "a batch of " + std::to_string(job.sequences) + " sequences has " +
                                                 std::to_string(job.rows) +
                                                 " tokens, more than 2^31 - 1 (--per-device-*-batch-size, "
                                                 "--max-length): lower one of them");
  Preparation preparation;
  preparation.files = std::move(files);
  preparation.tiers = tiers;
  preparation.job = job;
  preparation.param_dtype = job.dtype.value_or(DType::kF32);
  preparation.grad_dtype = job.grad_dtype.value_or(preparation.param_dtype);
  preparation.layout = swap_scheduler::LayOut(preparation.files.tensors);
  TM_CHECK(preparation.layout.pages[preparation.layout.embedding.front()].rows <=
           static_cast<uint64_t>(model::VocabularySliceRows(preparation.files.config)));
  preparation.buffers = BuffersOf(preparation, device);
  preparation.device_fixed_bytes = DeviceBuffers::Bytes(preparation.buffers);
  preparation.host_fixed_bytes = offload::ModelState::BytesNeeded(preparation.layout);
  preparation.limits = ResolveLimits(tiers, available_bytes);
  return preparation;
}

StepShape StateShapeOf(DType param_dtype, cpu_adam::StateDtype state_dtype, DType master_dtype) {
  StepShape shape;
  shape.param_bytes = SizeOf(param_dtype);
  shape.split_master = master_dtype == DType::kF32;
  shape.moment = MomentSizeOf(state_dtype);
  return shape;
}

Result<MemoryPlan> PlanOf(const Preparation& preparation) {
  MemoryPlanRequest request;
  request.shape = ShapeOf(preparation);
  request.group_size = static_cast<uint32_t>(preparation.tiers.group_size.value_or(0));
  request.windows = preparation.job.windows;
  request.evaluation_batches = preparation.job.evaluation_batches;
  request.placement = RequestedPlacement(preparation.tiers);
  request.placement.optimizer_off_device =
      preparation.job.state_dtype != cpu_adam::StateDtype::kFp32 || preparation.job.master_dtype != DType::kF32;
  if (preparation.tiers.prefetch_depth) {
    const auto blocks = static_cast<uint32_t>(*preparation.tiers.prefetch_depth);
    request.look_ahead = {blocks, blocks};
  }
  request.limits = preparation.limits;
  request.device_fixed_bytes = preparation.device_fixed_bytes;
  request.host_fixed_bytes = preparation.host_fixed_bytes;
  return PlanMemory(preparation.layout, request);
}

}  // namespace tidemill::train
