// Where a job's bytes may live and how they move: what train, plan, eval and generate have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/device_spec.h"
#include "train/config/flag_set.h"
#include "train/config/io_profile.h"
#include "train/config/place_flag.h"

namespace tidemill::train {

enum class SwapLeftovers : uint8_t { kRefuse, kReclaim };

struct TierOptions {
  gpu::DeviceSpec device;
  std::optional<int64_t> threads;                      // compute threads of the CPU device, at least 1
  std::optional<uint64_t> device_memory, host_memory;  // budgets in bytes; nothing: auto
  std::vector<std::string> swap_dirs;                  // none: no nvme tier
  std::optional<uint64_t> swap_size;                   // bytes, both slots of every page included
  SwapLeftovers swap_leftovers = SwapLeftovers::kRefuse;
  std::string io_engine = "auto";       // as io::ParseEngineChoice takes it
  std::optional<IoProfile> io_profile;  // every one of swap_dirs is in it
  PlaceFlag place_params, place_optimizer, place_activations, place_gradients;
  std::optional<int64_t> group_size;      // micro-batches, at least 1
  std::optional<uint64_t> tile_size;      // bytes, at least one page
  std::optional<int64_t> prefetch_depth;  // blocks, 0: on demand
};

// Reads and cross-checks what `flags` has of these, and the file of --io-profile; flags that its table lacks keep their
// defaults.
Result<TierOptions> ParseTierOptions(const FlagSet& flags);

}  // namespace tidemill::train
