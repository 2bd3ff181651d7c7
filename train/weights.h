// Weights between a Hugging Face folder and the store, a page at a time.
//
//   Threads  one thread, and none while a step is carried out.
//   Errors   kInvalidArgument names the tensor that is missing, unknown, or of another shape; then those of file and
//            store.
#pragma once

#include <optional>
#include <string>

#include "base/dtype.h"
#include "data/model_folder.h"
#include "data/model_folder_writer.h"
#include "offload/model_state.h"
#include "swap_scheduler/page_layout.h"

namespace tidemill::train {

// Every tensor of the model is in the folder with its shape, and nothing else is that would change the arithmetic.
// With a tied head, an lm_head that equals the embedding is taken and one that differs is refused.
Status CheckTensors(const data::ModelFolder& folder, const swap_scheduler::ModelTensors& tensors);

// Masters from the folder. `fresh_moments`: sets both moments of every trainable page to zero. kInterrupted between two
// pages when a signal asks for a stop.
Status LoadWeights(const data::ModelFolder& folder, offload::ModelState& state, bool fresh_moments);

// Writes all tensors of `source` that the model has, in its order: trained ones from the store, frozen ones copied,
// each in `save_dtype`, else in the dtype that it has there.
Status SaveWeights(const data::ModelFolder& source, const swap_scheduler::ModelTensors& tensors,
                   offload::ModelState& state, std::optional<DType> save_dtype, uint64_t max_shard_bytes,
                   const std::string& directory);

// The bytes that SaveWeights will write.
uint64_t SavedBytes(const swap_scheduler::ModelTensors& tensors, const data::ModelFolder& source,
                    std::optional<DType> save_dtype);

}  // namespace tidemill::train
