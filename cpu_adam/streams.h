// Internal: how each form of master, moments and gradient is loaded and stored, a vector S at a time. `i` is an
// element. Everything is prefetched 1 KiB ahead: four to six streams are more than a core's prefetchers follow well.
#pragma once

#include "cpu_adam/kernel.h"
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

template <typename S>
struct Fp32MasterStream {
  explicit Fp32MasterStream(const Slice& s) : master(s.master) {}
  auto Load(size_t i) const {
    Ahead(master + i);
    return S::Load(master + i);
  }
  void Store(size_t i, typename S::V x) const { S::Store(master + i, x); }
  float* master;
};

// DESIGN "split master": param = (x + 0x8000) >> 16, rest = x & 0xffff.
template <typename S>
struct SplitMasterStream {
  explicit SplitMasterStream(const Slice& s) : param(s.param), rest(s.rest) {}
  auto Load(size_t i) const {
    Ahead(param + i);
    Ahead(rest + i);
    const auto low = S::LoadU16(rest + i);
    const auto high = S::SubU(S::LoadU16(param + i), S::template ShiftRight<15>(low));
    return S::Float(S::Or(S::template ShiftLeft<16>(high), low));
  }
  void Store(size_t i, typename S::V x) const {
    const auto bits = S::Bits(x);
    S::StoreU16(param + i, S::template ShiftRight<16>(S::AddU(bits, S::SetU(0x8000))));
    S::StoreU16(rest + i, S::And(bits, S::SetU(0xffff)));
  }
  uint16_t *param, *rest;
};

template <typename S>
struct Fp32MasterBf16CopyStream : Fp32MasterStream<S> {
  explicit Fp32MasterBf16CopyStream(const Slice& s) : Fp32MasterStream<S>(s), copy(s.param) {}
  void Store(size_t i, typename S::V x) const {
    Fp32MasterStream<S>::Store(i, x);
    S::StoreU16(copy + i, S::template ShiftRight<16>(S::AddU(S::Bits(x), S::SetU(0x8000))));
  }
  uint16_t* copy;
};

template <typename S>
struct Fp32MasterF16CopyStream : Fp32MasterStream<S> {
  explicit Fp32MasterF16CopyStream(const Slice& s) : Fp32MasterStream<S>(s), copy(s.param) {}
  void Store(size_t i, typename S::V x) const {
    Fp32MasterStream<S>::Store(i, x);
    S::StoreF16(copy + i, x);
  }
  uint16_t* copy;
};

template <typename S>
struct Bf16MasterStream {
  explicit Bf16MasterStream(const Slice& s) : param(s.param), first_index(s.first_index), key(s.master_key) {}
  auto Load(size_t i) const {
    Ahead(param + i);
    return WidenBf16<S>(S::LoadU16(param + i));
  }
  void Store(size_t i, typename S::V x) const {
    S::StoreU16(param + i, RoundToBf16Stochastic<S>(x, Draw<S>(key, first_index + static_cast<uint32_t>(i))));
  }
  uint16_t* param;
  uint32_t first_index;
  StreamKey key;
};

template <typename S>
struct Fp32MomentStream {
  explicit Fp32MomentStream(const Slice& s)
      : exp_avg(static_cast<float*>(s.exp_avg)), exp_avg_sq(static_cast<float*>(s.exp_avg_sq)) {}
  void Load(size_t i, typename S::V& m, typename S::V& v) const {
    Ahead(exp_avg + i);
    Ahead(exp_avg_sq + i);
    m = S::Load(exp_avg + i);
    v = S::Load(exp_avg_sq + i);
  }
  void Store(size_t i, typename S::V m, typename S::V v) const {
    S::Store(exp_avg + i, m);
    S::Store(exp_avg_sq + i, v);
  }
  float *exp_avg, *exp_avg_sq;
};

// One draw serves both moments: its low half the first, its high half the second.
template <typename S>
struct Bf16MomentStream {
  explicit Bf16MomentStream(const Slice& s)
      : exp_avg(static_cast<uint16_t*>(s.exp_avg)),
        exp_avg_sq(static_cast<uint16_t*>(s.exp_avg_sq)),
        first_index(s.first_index),
        key(s.moment_key) {}
  void Load(size_t i, typename S::V& m, typename S::V& v) const {
    Ahead(exp_avg + i);
    Ahead(exp_avg_sq + i);
    m = WidenBf16<S>(S::LoadU16(exp_avg + i));
    v = WidenBf16<S>(S::LoadU16(exp_avg_sq + i));
  }
  void Store(size_t i, typename S::V m, typename S::V v) const {
    const auto random = Draw<S>(key, first_index + static_cast<uint32_t>(i));
    S::StoreU16(exp_avg + i, RoundToBf16Stochastic<S>(m, random));
    S::StoreU16(exp_avg_sq + i, RoundToBf16Stochastic<S>(v, S::template ShiftRight<16>(random)));
  }
  uint16_t *exp_avg, *exp_avg_sq;
  uint32_t first_index;
  StreamKey key;
};

template <typename S>
struct Fp32GradStream {
  using Element = float;
  explicit Fp32GradStream(const void* data) : grad(static_cast<const float*>(data)) {}
  auto Load(size_t i) const {
    Ahead(grad + i);
    return S::Load(grad + i);
  }
  const float* grad;
};

template <typename S>
struct Bf16GradStream {
  using Element = uint16_t;
  explicit Bf16GradStream(const void* data) : grad(static_cast<const uint16_t*>(data)) {}
  auto Load(size_t i) const {
    Ahead(grad + i);
    return WidenBf16<S>(S::LoadU16(grad + i));
  }
  const uint16_t* grad;
};

}  // namespace
}  // namespace tidemill::cpu_adam
