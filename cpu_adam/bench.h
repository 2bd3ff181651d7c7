// How fast this machine steps Adam, beside the speed of its memory in the same minutes.
//
// The limit is the "Adam mix": the fp32 step's streams (four read, three of them written in place: 28 bytes a
// parameter) with one multiply-add each, with and without prefetch, the better of the two. A row's steps and the mix
// take turns, so that a neighbour's load slows both. Medians, after one untimed turn; memory is touched before, on huge
// pages.
//
//   Memory      18 bytes per element and 20 MiB, given back on return.
//   Errors      kUnavailable when the memory is not there.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cpu_adam/isa.h"
#include "cpu_adam/state_encoding.h"

namespace tidemill::cpu_adam {

struct BenchRequest {
  size_t elements;
  size_t threads;
  std::span<const Isa> isas;
  std::span<const StateDtype> states;
  size_t steps = 5;  // timed
};

struct BenchRow {
  StateDtype state_dtype;
  std::string_view param_dtype;  // "fp32", "fp32+bf16" (the copy is written too), "split", "bf16"
  std::string_view grad_dtype;   // "fp32", "bf16"
  Isa isa;
  size_t threads;
  double ns_per_param;
  double bytes_per_param;  // what the step must read and write
  double limit_fraction;   // time of that many bytes at the mix's speed / time of the step
};

// A row per instruction set, state encoding and form of the parameter, in that order.
Result<std::vector<BenchRow>> BenchAdam(const BenchRequest& request);

}  // namespace tidemill::cpu_adam
