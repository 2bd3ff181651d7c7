// How AdamW's two moments are kept between steps. Both always use the same encoding.
//
//   name   bytes per parameter   error that one store adds
//   fp32   8                     none: exact
//   bf16   4                     at most 2^-7 of the value (one step of 8 significant bits), unbiased
//   int8   2 + 2/256             at most 2^-3 of the value (one step of 4 significant bits), unbiased, for exp_avg
//                                down to 2^-14 and for exp_avg_sq down to 2^-29 of the block's largest; below that,
//                                at most 2^-17 (2^-32) of twice the block's largest, unbiased
//
// Rounding is stochastic (up with the probability that the dropped part stands for), because nearest rounding would
// freeze exp_avg_sq: with beta2 = 0.999 a step moves it by a thousandth, less than half of either format's spacing.
// It is drawn from a counter-based generator: a function of (seed, step, element index) and nothing else. Two elements
// share a random word (rounding.h), so a tile whose form is rounded starts at an even element of the run.
//
// int8 in detail: blocks of kMomentBlock elements, counted from the start of the page, the last may be short. A block
// has one byte of scale: E, the biased fp32 exponent of its largest value after rounding (never below kMomentScaleMin,
// so that no decoded value is denormal). An element is a small float relative to 2^(E-127):
//   exp_avg      sign, 4 exponent bits, 3 mantissa bits; the top exponent field, 15, stands for 2^(E-127)
//   exp_avg_sq   5 exponent bits, 3 mantissa bits; the top exponent field in use, 30, stands for 2^(E-127)
// with IEEE-style subnormals below field 1: binary16 cut to 3 mantissa bits, which CPUs convert at once. Scales are
// powers of two, so decoding is exact and encoding what was decoded gives the same bytes. Values are clamped to 1.875 *
// 2^127.
//
//   Limits      values must be finite, exp_avg_sq not negative.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "base/result.h"

namespace tidemill::cpu_adam {

enum class StateDtype : uint8_t { kFp32, kBf16, kInt8 };

inline constexpr size_t kMomentBlock = 256;  // elements
inline constexpr uint8_t kMomentScaleMin = 34;

// "fp32", "bf16", "int8": the spelling of --state-dtype, of logs and of checkpoints.
std::string_view StateDtypeName(StateDtype dtype);
Result<StateDtype> StateDtypeFromName(std::string_view name);

// Bytes of ONE moment of a page of `count` elements. int8: the codes, then the scales.
size_t MomentBytes(StateDtype dtype, size_t count);

// What stochastic rounding is keyed by. `first_element` is the index of the tile's first element, unique within the
// run (not within the page), so that no two elements share their draws; even, where a form is rounded.
struct RoundingKey {
  uint64_t seed = 0;
  int64_t step = 0;
  uint64_t first_element = 0;
};

struct Fp32Moments {
  float *exp_avg, *exp_avg_sq;
};
struct Bf16Moments {
  uint16_t *exp_avg, *exp_avg_sq;
};
struct Int8Moments {
  uint8_t *exp_avg, *exp_avg_sq;              // a code per element
  uint8_t *exp_avg_scale, *exp_avg_sq_scale;  // a byte per block
};
using MomentView = std::variant<Fp32Moments, Bf16Moments, Int8Moments>;

// The view of elements [first, ...) of a page of `page_count` elements; the pages hold MomentBytes() bytes each and are
// aligned to the element. int8: `first` is a multiple of kMomentBlock.
MomentView PageMoments(StateDtype dtype, std::byte* exp_avg, std::byte* exp_avg_sq, size_t page_count,
                       size_t first = 0);

// From and to fp32, for checkpoints: a run may resume in another encoding. Spans have the view's length.
void EncodeMoments(std::span<const float> exp_avg, std::span<const float> exp_avg_sq, const RoundingKey& key,
                   const MomentView& out);
void DecodeMoments(const MomentView& in, std::span<float> exp_avg, std::span<float> exp_avg_sq);

}  // namespace tidemill::cpu_adam
