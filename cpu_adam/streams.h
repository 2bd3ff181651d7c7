// Internal: how each form of master, moments and gradient is loaded and stored, a vector S (layout.h) at a time. `i` is
// an element; `word` is what stochastic rounding draws from (rounding.h), and other forms take and ignore it.
// Prefetch() is for forms with more streams than a core's own prefetchers follow.
#pragma once

#include "cpu_adam/kernel.h"
#include "cpu_adam/layout.h"
#include "cpu_adam/rounding.h"

namespace tidemill::cpu_adam {
namespace {

constexpr size_t kAheadBytes = 1024;

// Through an integer: the address may lie past the stream's end, which a prefetch may touch and a pointer may not
// reach.
template <typename T>
void Ahead(const T* p) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(p) + kAheadBytes));
}

// A vector's worth: two cache lines where a vector has 32 floats.
template <typename S, typename T>
void AheadOf(const T* p) {
  Ahead(p);
  if constexpr (S::kLanes * sizeof(T) > 64) Ahead(reinterpret_cast<const char*>(p) + 64);
}

template <typename S>
struct Fp32MasterStream {
  static constexpr bool kPrefetch = false;
  explicit Fp32MasterStream(const Slice& s) : master(s.master) {}
  auto Load(size_t i) const { return S::Load(master + i); }
  template <typename Word>
  void Store(size_t i, typename S::V x, Word) const {
    S::Store(master + i, x);
  }
  float* master;
};

// Split master (docs/ARCHITECTURE.md): param = (x + 0x8000) >> 16, rest = x & 0xffff.
template <typename S>
struct SplitMasterStream {
  static constexpr bool kPrefetch = true;
  explicit SplitMasterStream(const Slice& s) : param(s.param), rest(s.rest) {}
  void Prefetch(size_t i) const {
    AheadOf<S>(param + i);
    AheadOf<S>(rest + i);
  }
  auto Load(size_t i) const { return S::Float(S::LoadSplit(param + i, rest + i)); }
  template <typename Word>
  void Store(size_t i, typename S::V x, Word) const {
    S::StoreUpper(param + i, S::AddU(S::Bits(x), S::SetU(0x8000)));
    S::StoreLower(rest + i, S::Bits(x));
  }
  uint16_t *param, *rest;
};

template <typename S>
struct Fp32MasterBf16CopyStream : Fp32MasterStream<S> {
  explicit Fp32MasterBf16CopyStream(const Slice& s) : Fp32MasterStream<S>(s), copy(s.param) {}
  template <typename Word>
  void Store(size_t i, typename S::V x, Word word) const {
    Fp32MasterStream<S>::Store(i, x, word);
    S::StoreUpper(copy + i, S::AddU(S::Bits(x), S::SetU(0x8000)));
  }
  uint16_t* copy;
};

template <typename S>
struct Fp32MasterF16CopyStream : Fp32MasterStream<S> {
  explicit Fp32MasterF16CopyStream(const Slice& s) : Fp32MasterStream<S>(s), copy(s.param) {}
  template <typename Word>
  void Store(size_t i, typename S::V x, Word word) const {
    Fp32MasterStream<S>::Store(i, x, word);
    S::StoreF16(copy + i, x);
  }
  uint16_t* copy;
};

template <typename S>
struct Bf16MasterStream {
  static constexpr bool kPrefetch = false;
  explicit Bf16MasterStream(const Slice& s) : param(s.param) {}
  auto Load(size_t i) const { return S::LoadBf16(param + i); }
  template <typename Word>
  void Store(size_t i, typename S::V x, Word word) const {
    S::StoreUpper(param + i, RoundToBf16<Draw::kMaster, S>(x, word));
  }
  uint16_t* param;
};

template <typename S>
struct Fp32MomentStream {
  explicit Fp32MomentStream(const Slice& s)
      : exp_avg(static_cast<float*>(s.exp_avg)), exp_avg_sq(static_cast<float*>(s.exp_avg_sq)) {}
  void Prefetch(size_t i) const {
    AheadOf<S>(exp_avg + i);
    AheadOf<S>(exp_avg_sq + i);
  }
  void Load(size_t i, typename S::V& m, typename S::V& v) const {
    m = S::Load(exp_avg + i);
    v = S::Load(exp_avg_sq + i);
  }
  template <typename Word>
  void Store(size_t i, typename S::V m, typename S::V v, Word) const {
    S::Store(exp_avg + i, m);
    S::Store(exp_avg_sq + i, v);
  }
  float *exp_avg, *exp_avg_sq;
};

template <typename S>
struct Bf16MomentStream {
  explicit Bf16MomentStream(const Slice& s)
      : exp_avg(static_cast<uint16_t*>(s.exp_avg)), exp_avg_sq(static_cast<uint16_t*>(s.exp_avg_sq)) {}
  void Prefetch(size_t i) const {
    AheadOf<S>(exp_avg + i);
    AheadOf<S>(exp_avg_sq + i);
  }
  void Load(size_t i, typename S::V& m, typename S::V& v) const {
    m = S::LoadBf16(exp_avg + i);
    v = S::LoadBf16(exp_avg_sq + i);
  }
  template <typename Word>
  void Store(size_t i, typename S::V m, typename S::V v, Word word) const {
    S::StoreUpper(exp_avg + i, RoundToBf16<Draw::kExpAvg, S>(m, word));
    S::StoreUpper(exp_avg_sq + i, RoundToBf16<Draw::kExpAvgSq, S>(v, word));
  }
  uint16_t *exp_avg, *exp_avg_sq;
};

template <typename S>
struct Fp32GradStream {
  using Element = float;
  explicit Fp32GradStream(const void* data) : grad(static_cast<const float*>(data)) {}
  void Prefetch(size_t i) const { AheadOf<S>(grad + i); }
  auto Load(size_t i) const { return S::Load(grad + i); }
  const float* grad;
};

template <typename S>
struct Bf16GradStream {
  using Element = uint16_t;
  explicit Bf16GradStream(const void* data) : grad(static_cast<const uint16_t*>(data)) {}
  void Prefetch(size_t i) const { AheadOf<S>(grad + i); }
  auto Load(size_t i) const { return S::LoadBf16(grad + i); }
  const uint16_t* grad;
};

}  // namespace
}  // namespace tidemill::cpu_adam
