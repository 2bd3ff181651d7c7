#include "cpu_adam/adam.h"

#include <algorithm>
#include <atomic>

#include "base/check.h"
#include "cpu_adam/kernel_table.h"
#include "cpu_adam/slice.h"
#include "cpu_adam/slice_keys.h"

namespace tidemill::cpu_adam {
namespace {

// Threads take multiples of this: whole int8 blocks, and stores of two threads far from one cache line.
constexpr size_t kGrain = 4096;
static_assert(kGrain % kMomentBlock == 0);

struct SetMaster {
  Slice& slice;
  void operator()(const Fp32Master& view) const { Set(MasterForm::kFp32, view.master, nullptr, nullptr); }
  void operator()(const SplitMasterView& view) const { Set(MasterForm::kSplit, nullptr, view.param, view.rest); }
  void operator()(const Fp32MasterBf16Copy& view) const {
    Set(MasterForm::kFp32Bf16Copy, view.master, view.copy, nullptr);
  }
  void operator()(const Fp32MasterF16Copy& view) const {
    Set(MasterForm::kFp32F16Copy, view.master, view.copy, nullptr);
  }
  void operator()(const Bf16Master& view) const { Set(MasterForm::kBf16, nullptr, view.param, nullptr); }

  void Set(MasterForm form, float* master, uint16_t* param, uint16_t* rest) const {
    slice.master_form = form;
    slice.master = master;
    slice.param = param;
    slice.rest = rest;
  }
};

Slice SliceOf(const TileView& tile) {
  Slice slice{};
  slice.count = tile.count;
  std::visit(SetMaster{slice}, tile.master);
  SetMoments(tile.moments, slice);
  const GradData grad = DataOf(tile.grad);
  slice.grad_form = grad.form;
  slice.grad = grad.data;
  return slice;
}

// One thread's share, in runs over which the high half of the index, and with it the keys, stay the same.
bool StepRange(StepFn step, const AdamCoefficients& k, const Slice& slice, const RoundingKey& key, size_t begin,
               size_t end) {
  bool finite = true;
  while (begin < end) {
    const size_t run = std::min(end - begin, RunLength(slice, key.first_element + begin));
    Slice sub = SubSlice(slice, begin, run);
    SetKeys(key, key.first_element + begin, sub);
    finite = step(k, sub) && finite;
    begin += run;
  }
  return finite;
}

}  // namespace

bool StepTile(const AdamCoefficients& coefficients, const TileView& tile, ThreadTeam& team, Isa isa) {
  const Slice slice = SliceOf(tile);
  const StepFn step = KernelsOf(isa).step;
  std::atomic<bool> finite = true;
  team.For(tile.count, kGrain, [&](size_t begin, size_t end) {
    if (!StepRange(step, coefficients, slice, tile.rounding, begin, end))
      finite.store(false, std::memory_order_relaxed);
  });
  return finite.load();
}

bool StepTile(const AdamCoefficients& coefficients, const TileView& tile, Isa isa) {
  return StepRange(KernelsOf(isa).step, coefficients, SliceOf(tile), tile.rounding, 0, tile.count);
}

}  // namespace tidemill::cpu_adam
