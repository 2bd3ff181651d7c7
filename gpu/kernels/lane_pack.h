// n registers side by side as one value of a fixed number of lanes: arithmetic register by register, lane by lane. GCC
// 12 does not split a wider vector type than the processor has without going through memory; it does split an array.
#pragma once

#include <cstdint>
#include <type_traits>

#include "gpu/kernels/isa.h"

namespace tidemill::gpu::TM_ISA {

#define TM_INLINE [[gnu::always_inline]] inline

template <typename V, int n>
struct Pack {
  using Element = std::remove_cvref_t<decltype(V{}[0])>;
  V part[n];

  TM_INLINE Element& operator[](int64_t lane) { return reinterpret_cast<Element*>(part)[lane]; }
  TM_INLINE Element operator[](int64_t lane) const { return reinterpret_cast<const Element*>(part)[lane]; }
};

// f of every register of a, or of a and b; the result's type follows f.
template <typename V, int n, typename F>
TM_INLINE auto Map(const F& f, const Pack<V, n>& a) {
  Pack<decltype(f(a.part[0])), n> result;
  for (int i = 0; i < n; ++i) result.part[i] = f(a.part[i]);
  return result;
}
template <typename V, typename W, int n, typename F>
TM_INLINE auto Map(const F& f, const Pack<V, n>& a, const Pack<W, n>& b) {
  Pack<decltype(f(a.part[0], b.part[0])), n> result;
  for (int i = 0; i < n; ++i) result.part[i] = f(a.part[i], b.part[i]);
  return result;
}

template <typename V, int n>
using Scalar = std::type_identity_t<typename Pack<V, n>::Element>;

#define TM_LANE_OPERATOR(op)                                                   \
  template <typename V, int n>                                                 \
  TM_INLINE Pack<V, n> operator op(const Pack<V, n>& a, const Pack<V, n>& b) { \
    return Map([](V x, V y) { return x op y; }, a, b);                         \
  }                                                                            \
  template <typename V, int n>                                                 \
  TM_INLINE Pack<V, n> operator op(const Pack<V, n>& a, Scalar<V, n> b) {      \
    return Map([b](V x) { return x op b; }, a);                                \
  }                                                                            \
  template <typename V, int n>                                                 \
  TM_INLINE Pack<V, n> operator op(Scalar<V, n> a, const Pack<V, n>& b) {      \
    return Map([a](V x) { return a op x; }, b);                                \
  }
TM_LANE_OPERATOR(+)
TM_LANE_OPERATOR(-)
TM_LANE_OPERATOR(*)
TM_LANE_OPERATOR(/)
TM_LANE_OPERATOR(&)
TM_LANE_OPERATOR(|)
TM_LANE_OPERATOR(<<)
TM_LANE_OPERATOR(>>)
#undef TM_LANE_OPERATOR

template <typename V, int n>
TM_INLINE Pack<V, n> operator-(const Pack<V, n>& a) {
  return Map([](V x) { return -x; }, a);
}
template <typename V, int n>
TM_INLINE Pack<V, n> operator~(const Pack<V, n>& a) {
  return Map([](V x) { return ~x; }, a);
}
template <typename V, int n>
TM_INLINE Pack<V, n>& operator+=(Pack<V, n>& a, const Pack<V, n>& b) {
  return a = a + b;
}

// Halves are folded onto each other until one lane is left: one tree, however wide the registers are.
template <typename V, typename Join>
TM_INLINE auto FoldVector(V v, const Join& join) {
  constexpr size_t kCount = sizeof(V) / sizeof(v[0]);
  if constexpr (kCount == 16) {
    return FoldVector(join(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7),
                           __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15)),
                      join);
  } else if constexpr (kCount == 8) {
    return FoldVector(join(__builtin_shufflevector(v, v, 0, 1, 2, 3), __builtin_shufflevector(v, v, 4, 5, 6, 7)), join);
  } else if constexpr (kCount == 4) {
    return FoldVector(join(__builtin_shufflevector(v, v, 0, 1), __builtin_shufflevector(v, v, 2, 3)), join);
  } else {
    return join(v[0], v[1]);
  }
}
template <typename V, int n, typename Join>
TM_INLINE auto Fold(const Pack<V, n>& a, const Join& join) {
  if constexpr (n == 1) {
    return FoldVector(a.part[0], join);
  } else {
    Pack<V, n / 2> half;
    for (int i = 0; i < n / 2; ++i) half.part[i] = join(a.part[i], a.part[i + n / 2]);
    return Fold(half, join);
  }
}

}  // namespace tidemill::gpu::TM_ISA
