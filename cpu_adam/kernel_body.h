// Internal: the fused pass, written once. A file per instruction set supplies a vector type B and includes this.
//
// B has kLanes; V (floats) with what AdamRule needs, Max, Min, Load, Store, LoadPairs and StorePairs (two registers of
// elements 2 l and 2 l + 1); U (32-bit words) with SetU, Iota, AddU, SubU, SubHalves (16-bit lanes), MulU, And, Or,
// Xor, JoinHalves(upper, lower) (per word), ShiftLeft<n>, ShiftRight<n>, MaxU, LargestLane, LoadU, StoreU, LoadU16 and
// StoreU16 (one half each), LoadWords and StoreWords (both), StoreBytes (the low byte of each 16-bit lane, which must
// fit); F16Bits; LoadCodes and LoadSignedCodes (int8_block.h's codes as binary16, in pairs); Bits and Float
// reinterpret.
//
// Everything is in an unnamed namespace, and B is local to its file: no AVX copy of a function can be linked into the
// scalar path. Ends of slices go through the same vector code on padded copies, so these files hold no scalar
// arithmetic.
#pragma once

#include "cpu_adam/int8_block.h"
#include "cpu_adam/kernel.h"
#include "cpu_adam/layout.h"
#include "cpu_adam/slice.h"
#include "cpu_adam/streams.h"

namespace tidemill::cpu_adam {
namespace {

// Whether all that went through Add() is finite: zero times it is zero, or NaN for ever.
template <typename S>
struct Finite {
  typename S::V zero = S::Set(0);
  void Add(typename S::V x) { zero = S::Fma(x, S::Set(0), zero); }
  bool All() const { return S::LargestLane(S::And(S::Bits(zero), S::SetU(0x7fffffff))) == 0; }
};

// What streams of elements in order, none of which is rounded, take for random words.
struct NoWords {
  explicit NoWords(const Slice&) {}
  NoWords Next() const { return *this; }
};
template <typename S>
struct WordsOf;
template <typename B>
struct WordsOf<InOrder<B>> {
  using Type = NoWords;
};
template <typename B>
struct WordsOf<Pairs<B>> {
  using Type = RandomWords<B>;  // the compiler drops it where nothing is rounded
};

template <typename S, typename Master, typename Word>
void StepVector(const AdamCoefficients& k, const Master& master, size_t i, typename S::V& m, typename S::V& v,
                typename S::V grad, Word word, Finite<S>& finite) {
  auto p = master.Load(i);
  AdamRule<S>(k, p, m, v, grad);
  master.Store(i, p, word);
  finite.Add(p);
}

// Coefficients come by value: a vector store may alias anything that has an address elsewhere, and would have them read
// again for every vector.
template <typename S, typename Master, typename Moments, typename Grad>
void StepVectors(const AdamCoefficients k, const Slice& slice, size_t count, Finite<S>& all_finite) {
  const Master master(slice);
  const Moments moments(slice);
  const Grad grad(slice.grad);
  typename WordsOf<S>::Type words(slice);
  Finite<S> finite = all_finite;
  for (size_t i = 0; i < count; i += S::kLanes) {
    if constexpr (Master::kPrefetch) {
      master.Prefetch(i);
      moments.Prefetch(i);
      grad.Prefetch(i);
    }
    typename S::V m, v;
    moments.Load(i, m, v);
    const auto word = words.Next();
    StepVector<S>(k, master, i, m, v, grad.Load(i), word, finite);
    moments.Store(i, m, v, word);
  }
  all_finite = finite;
}

template <typename S, typename Master, typename Moments, typename Grad>
bool StepElementwise(const AdamCoefficients& k, const Slice& slice) {
  Finite<S> finite;
  const size_t whole = slice.count / S::kLanes * S::kLanes;
  StepVectors<S, Master, Moments, Grad>(k, slice, whole, finite);
  if (whole < slice.count) {
    const PaddedSlice<S::kLanes> end(SubSlice(slice, whole, slice.count - whole));
    StepVectors<S, Master, Moments, Grad>(k, end.slice(), S::kLanes, finite);
    end.CopyBack();
  }
  return finite.All();
}

// The moments of padding must not raise a block's scale.
template <typename S>
typename S::V ClearFrom(size_t first_lane, typename S::V x) {
  float lanes[S::kLanes];
  S::Store(lanes, x);
  for (size_t lane = first_lane; lane < S::kLanes; ++lane) lanes[lane] = 0;
  return S::Load(lanes);
}

// kBlock elements lie behind every pointer; those from slice.count on are padding.
template <typename S, typename Master, typename Grad>
void StepBlock(const AdamCoefficients k, const Slice& slice, Finite<S>& all_finite) {
  const Master master(slice);
  const StoredBlock<S> before(slice);
  const Grad grad(slice.grad);
  typename WordsOf<S>::Type words(slice);
  PendingBlock<S> after;
  Largest<S> largest_moments;
  Finite<S> finite = all_finite;
  for (size_t i = 0; i < kBlock; i += S::kLanes) {
    if constexpr (Master::kPrefetch) {
      master.Prefetch(i);
      before.Prefetch(i);
      grad.Prefetch(i);
    }
    typename S::V m, v;
    before.Load(i, m, v);
    const auto word = words.Next();
    StepVector<S>(k, master, i, m, v, grad.Load(i), word, finite);
    if (i + S::kLanes > slice.count) [[unlikely]] {
      const size_t first_lane = slice.count > i ? slice.count - i : 0;
      m = ClearFrom<S>(first_lane, m);
      v = ClearFrom<S>(first_lane, v);
    }
    after.Put(i, m, v, word, largest_moments);
  }
  after.Encode(largest_moments, slice);
  all_finite = finite;
}

template <typename S, typename Master, typename Grad>
bool StepBlocks(const AdamCoefficients& k, const Slice& slice) {
  Finite<S> finite;
  const size_t whole = slice.count / kBlock * kBlock;
  for (size_t i = 0; i < whole; i += kBlock) StepBlock<S, Master, Grad>(k, SubSlice(slice, i, kBlock), finite);
  if (whole < slice.count) {
    const PaddedSlice<kBlock> end(SubSlice(slice, whole, slice.count - whole));
    StepBlock<S, Master, Grad>(k, end.slice(), finite);
    end.CopyBack();
  }
  return finite.All();
}

// Whatever is rounded at random, or may be (a master that is), works on pairs; fp32 moments need no layout but
// memory's.
template <typename B, template <typename> typename Master, template <typename> typename Grad, typename Exact>
bool StepMoments(const AdamCoefficients& k, const Slice& slice) {
  using S = Pairs<B>;
  switch (slice.moment_form) {
    case MomentForm::kFp32:
      return StepElementwise<Exact, Master<Exact>, Fp32MomentStream<Exact>, Grad<Exact>>(k, slice);
    case MomentForm::kBf16:
      return StepElementwise<S, Master<S>, Bf16MomentStream<S>, Grad<S>>(k, slice);
    case MomentForm::kInt8:
      return StepBlocks<S, Master<S>, Grad<S>>(k, slice);
  }
  __builtin_unreachable();
}

template <typename B, template <typename> typename Master, typename Exact = InOrder<B>>
bool StepGrad(const AdamCoefficients& k, const Slice& slice) {
  if (slice.grad_form == GradForm::kFp32) return StepMoments<B, Master, Fp32GradStream, Exact>(k, slice);
  return StepMoments<B, Master, Bf16GradStream, Exact>(k, slice);
}

template <typename B>
bool Step(const AdamCoefficients& k, const Slice& slice) {
  switch (slice.master_form) {
    case MasterForm::kFp32:
      return StepGrad<B, Fp32MasterStream>(k, slice);
    case MasterForm::kSplit:
      return StepGrad<B, SplitMasterStream>(k, slice);
    case MasterForm::kFp32Bf16Copy:
      return StepGrad<B, Fp32MasterBf16CopyStream>(k, slice);
    case MasterForm::kFp32F16Copy:
      return StepGrad<B, Fp32MasterF16CopyStream>(k, slice);
    case MasterForm::kBf16:
      return StepGrad<B, Bf16MasterStream, Pairs<B>>(k, slice);
  }
  __builtin_unreachable();
}

}  // namespace
}  // namespace tidemill::cpu_adam
