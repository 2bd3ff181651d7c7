// Internal: the fused pass, written once. A file per instruction set supplies a vector type S and includes this.
//
// S has kLanes; V (floats) with what AdamRule needs, Add, Sub, Load, Store, StoreF16; U (32-bit words) with SetU, Iota,
// AddU, SubU, MulU, And, Or, Xor, ShiftLeft<n>, ShiftRight<n>, MinU, MaxU, SelectLess and AllAtLeast (operands below
// 2^31), LoadU, LoadU8, LoadU16, StoreU, StoreU8, StoreU16 (words must fit), LargestLane; Bits and Float reinterpret.
//
// Everything is in an unnamed namespace, and S is local to its file: no AVX copy of a function can be linked into the
// scalar path. Ends of slices go through the same vector code on padded copies, so these files hold no scalar
// arithmetic.
#pragma once

#include "cpu_adam/int8_block.h"
#include "cpu_adam/kernel.h"
#include "cpu_adam/slice.h"
#include "cpu_adam/streams.h"

namespace tidemill::cpu_adam {
namespace {

template <typename S, typename Master>
void StepVector(const AdamCoefficients& k, const Master& master, size_t i, typename S::V& m, typename S::V& v,
                typename S::V grad, typename S::U& largest) {
  auto p = master.Load(i);
  AdamRule<S>(k, p, m, v, grad);
  master.Store(i, p);
  largest = S::MaxU(largest, S::And(S::Bits(p), S::SetU(0x7fffffff)));
}

// Coefficients come by value: a vector store may alias anything that has an address elsewhere, and would have them read
// again for every vector.
template <typename S, typename Master, typename Moments, typename Grad>
void StepVectors(const AdamCoefficients k, const Slice& slice, size_t count, typename S::U& largest) {
  const Master master(slice);
  const Moments moments(slice);
  const Grad grad(slice.grad);
  for (size_t i = 0; i < count; i += S::kLanes) {
    typename S::V m, v;
    moments.Load(i, m, v);
    StepVector<S>(k, master, i, m, v, grad.Load(i), largest);
    moments.Store(i, m, v);
  }
}

template <typename S, typename Master, typename Moments, typename Grad>
uint32_t StepElementwise(const AdamCoefficients& k, const Slice& slice) {
  auto largest = S::SetU(0);
  const size_t whole = slice.count / S::kLanes * S::kLanes;
  StepVectors<S, Master, Moments, Grad>(k, slice, whole, largest);
  if (whole < slice.count) {
    const PaddedSlice<S::kLanes> end(SubSlice(slice, whole, slice.count - whole));
    StepVectors<S, Master, Moments, Grad>(k, end.slice(), S::kLanes, largest);
    end.CopyBack();
  }
  return S::LargestLane(largest);
}

// The moments of padding must not raise a block's scale.
template <typename S>
[[gnu::noinline, gnu::cold]] void ClearFrom(size_t first_lane, typename S::V& x) {
  float lanes[S::kLanes];
  S::Store(lanes, x);
  for (size_t lane = first_lane; lane < S::kLanes; ++lane) lanes[lane] = 0;
  x = S::Load(lanes);
}

// kBlock elements lie behind every pointer; those from slice.count on are padding.
template <typename S, typename Master, typename Grad>
typename S::U StepBlock(const AdamCoefficients k, const Slice& slice) {
  auto largest = S::SetU(0);
  const Master master(slice);
  const StoredBlock<S> before(slice);
  const Grad grad(slice.grad);
  PendingBlock<S> after(slice.first_index, slice.moment_key);
  Largest<S> largest_moments;
  for (size_t i = 0; i < kBlock; i += S::kLanes) {
    typename S::V m, v;
    before.Load(i, m, v);
    StepVector<S>(k, master, i, m, v, grad.Load(i), largest);
    if (i + S::kLanes > slice.count) {
      const size_t first_lane = slice.count > i ? slice.count - i : 0;
      ClearFrom<S>(first_lane, m);
      ClearFrom<S>(first_lane, v);
    }
    after.Put(i, m, v, largest_moments);
  }
  after.Encode(largest_moments, slice);
  return largest;
}

template <typename S, typename Master, typename Grad>
uint32_t StepBlocks(const AdamCoefficients& k, const Slice& slice) {
  auto largest = S::SetU(0);
  const size_t whole = slice.count / kBlock * kBlock;
  for (size_t i = 0; i < whole; i += kBlock) {
    largest = S::MaxU(largest, StepBlock<S, Master, Grad>(k, SubSlice(slice, i, kBlock)));
  }
  if (whole < slice.count) {
    const PaddedSlice<kBlock> end(SubSlice(slice, whole, slice.count - whole));
    largest = S::MaxU(largest, StepBlock<S, Master, Grad>(k, end.slice()));
    end.CopyBack();
  }
  return S::LargestLane(largest);
}

template <typename S, typename Master, typename Grad>
uint32_t StepMoments(const AdamCoefficients& k, const Slice& slice) {
  switch (slice.moment_form) {
    case MomentForm::kFp32:
      return StepElementwise<S, Master, Fp32MomentStream<S>, Grad>(k, slice);
    case MomentForm::kBf16:
      return StepElementwise<S, Master, Bf16MomentStream<S>, Grad>(k, slice);
    case MomentForm::kInt8:
      return StepBlocks<S, Master, Grad>(k, slice);
  }
  __builtin_unreachable();
}

template <typename S, typename Master>
uint32_t StepGrad(const AdamCoefficients& k, const Slice& slice) {
  if (slice.grad_form == GradForm::kFp32) return StepMoments<S, Master, Fp32GradStream<S>>(k, slice);
  return StepMoments<S, Master, Bf16GradStream<S>>(k, slice);
}

template <typename S>
uint32_t Step(const AdamCoefficients& k, const Slice& slice) {
  switch (slice.master_form) {
    case MasterForm::kFp32:
      return StepGrad<S, Fp32MasterStream<S>>(k, slice);
    case MasterForm::kSplit:
      return StepGrad<S, SplitMasterStream<S>>(k, slice);
    case MasterForm::kFp32Bf16Copy:
      return StepGrad<S, Fp32MasterBf16CopyStream<S>>(k, slice);
    case MasterForm::kFp32F16Copy:
      return StepGrad<S, Fp32MasterF16CopyStream<S>>(k, slice);
    case MasterForm::kBf16:
      return StepGrad<S, Bf16MasterStream<S>>(k, slice);
  }
  __builtin_unreachable();
}

}  // namespace
}  // namespace tidemill::cpu_adam
