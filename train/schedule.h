// The learning rate of every step: the eight schedules of transformers' get_scheduler, with its formulas, and with its
// divisions by zero and rises past the end taken out.
//
// A step's number is the count of updates applied before it, so the first step has number 0 and, with warm-up, rate 0.
// Source: https://github.com/huggingface/transformers, src/transformers/optimization.py (Apache-2.0); formulas only.
//
//   Limits   every rate is finite and within [0, learning_rate]; after warm-up it never rises (with more than half a
//            cosine cycle it does, because that is what was asked for). Past the end the last rate holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace tidemill::train {

enum class ScheduleType : uint8_t {
  kLinear,
  kCosine,
  kConstant,
  kConstantWithWarmup,
  kCosineWithMinLr,
  kWarmupStableDecay,
  kInverseSqrt,
  kPolynomial,
};
inline constexpr std::string_view kScheduleNames =
    "linear|cosine|constant|constant_with_warmup|cosine_with_min_lr|warmup_stable_decay|inverse_sqrt|polynomial";
Result<ScheduleType> ScheduleTypeFromName(std::string_view name);

enum class RampShape : uint8_t { kLinear, kCosine, kOneMinusSqrt };

// --lr-scheduler-kwargs, under the names of transformers.
struct ScheduleOptions {
  std::optional<double> min_lr, min_lr_rate;  // cosine_with_min_lr: exactly one of them
  double num_cycles = 0.5;                    // the cosines
  double power = 1, lr_end = 1e-7;            // polynomial
  std::optional<int64_t> num_decay_steps;     // warmup_stable_decay: required
  std::optional<int64_t> num_stable_steps;    // warmup_stable_decay: the rest of the run if absent
  RampShape warmup_type = RampShape::kLinear, decay_type = RampShape::kCosine;
  double min_lr_ratio = 0;
  std::optional<int64_t> timescale;  // inverse_sqrt: warm-up steps, or 10000, if absent
};

// Refuses keys that `type` does not know, by name. `json` is an object.
Result<ScheduleOptions> ParseScheduleOptions(ScheduleType type, std::string_view json);

struct Warmup {
  double steps = 0;  // a number of steps; below 1 a share of the run
  double ratio = 0;  // a share of the run, if `steps` is 0
  int64_t Steps(int64_t total_steps) const;
};

class Schedule {
 public:
  // kInvalidArgument when the options do not fit the rate, naming the option.
  static Result<Schedule> Create(ScheduleType type, double learning_rate, const Warmup& warmup,
                                 const ScheduleOptions& options, int64_t total_steps);

  double LearningRate(int64_t step) const;  // step >= 0

 private:
  Schedule(ScheduleType type, double learning_rate, const ScheduleOptions& options, int64_t warmup_steps,
           int64_t total_steps);
  double Factor(int64_t step) const;
  double StableDecayFactor(int64_t step) const;

  ScheduleType type_;
  double learning_rate_;
  ScheduleOptions options_;  // min_lr resolved to min_lr_rate, num_stable_steps and timescale filled in
  int64_t warmup_steps_, total_steps_;
};

}  // namespace tidemill::train
