// The model's state as fp32, a page at a time, between steps: how weights are loaded and how they are saved.
//
//   Ownership   borrows store, layout and pages; owns one page's worth of fp32 and one of staging (BytesNeeded).
//   Threads     one thread, and none while a step is carried out.
//   Errors      those of the store.
#pragma once

#include <span>

#include "base/aligned_buffer.h"
#include "base/dtype.h"
#include "offload/moment_codec.h"
#include "offload/store.h"
#include "swap_scheduler/training_program.h"

namespace tidemill::offload {

class ModelState {
 public:
  static Result<ModelState> Create(Store& store, const swap_scheduler::PageLayout& layout,
                                   const swap_scheduler::ProgramPages& pages, DType param_dtype,
                                   cpu_adam::StateDtype state_dtype);
  static uint64_t BytesNeeded(const swap_scheduler::PageLayout& layout);

  const swap_scheduler::PageLayout& layout() const { return *layout_; }

  // One page's elements, for the caller to fill before a Write or to use after a Read; overwritten by the next call.
  std::span<float> values(uint32_t page) const;

  // The fp32 master of a layout page: `param` itself, or `param` and `rest` joined. A bf16 page without a rest (it is
  // frozen, or its param is its master) is what its param says; written, it takes the master's rounding (base/dtype.h,
  // SplitMaster).
  Status ReadMaster(uint32_t page);
  Status WriteMaster(uint32_t page);
  // A trainable page's moment, decoded. What is written is rounded to the encoding, once; what was read is written back
  // bit for bit.
  Status ReadMoment(uint32_t page, Moment moment);
  Status WriteMoment(uint32_t page, Moment moment);

 private:
  ModelState(Store& store, const swap_scheduler::PageLayout& layout, const swap_scheduler::ProgramPages& pages,
             DType param_dtype, cpu_adam::StateDtype state_dtype)
      : store_(&store),
        layout_(&layout),
        pages_(&pages),
        halves_(param_dtype == DType::kBf16),
        state_dtype_(state_dtype) {}

  // The staging bytes of a whole store page.
  std::span<std::byte> staging(swap_scheduler::PageId page) const;
  Status VisitTiles(uint32_t page, Moment moment, bool write);

  Store* store_;
  const swap_scheduler::PageLayout* layout_;
  const swap_scheduler::ProgramPages* pages_;
  bool halves_;  // bf16 params
  cpu_adam::StateDtype state_dtype_;
  AlignedBuffer values_, staging_;
};

}  // namespace tidemill::offload
