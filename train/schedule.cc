#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

namespace tidemill::train {
namespace {

double Share(int64_t part, int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<int64_t>(1, whole));
}

double CosineFall(double progress, double cycles) {
  return 0.5 * (1 + std::cos(std::numbers::pi * cycles * 2 * progress));
}

double Rise(RampShape shape, double progress) {
  if (shape == RampShape::kLinear) return progress;
  if (shape == RampShape::kCosine) return 0.5 * (1 - std::cos(std::numbers::pi * progress));
  return 1 - std::sqrt(1 - progress);
}

double Fall(RampShape shape, double progress, double cycles) {
  if (shape == RampShape::kLinear) return 1 - progress;
  if (shape == RampShape::kCosine) return CosineFall(progress, cycles);
  return 1 - std::sqrt(progress);
}

tl::unexpected<Error> Refuse(std::string_view what) {
  return Fail(ErrorCode::kInvalidArgument, std::string(what) + " (--lr-scheduler-kwargs)");
}

Status CheckOptions(ScheduleType type, double learning_rate, const ScheduleOptions& options) {
  if (type == ScheduleType::kCosineWithMinLr) {
    if (options.min_lr.has_value() == options.min_lr_rate.has_value())
      return Refuse("cosine_with_min_lr needs either min_lr or min_lr_rate: give one of them");
    if (options.min_lr.has_value() && (*options.min_lr < 0 || *options.min_lr > learning_rate))
      return Refuse("min_lr is not between 0 and the learning rate: lower it");
    if (options.min_lr_rate.has_value() && (*options.min_lr_rate < 0 || *options.min_lr_rate > 1))
      return Refuse("min_lr_rate is not between 0 and 1: it is a share of the learning rate");
  }
  if (type == ScheduleType::kWarmupStableDecay) {
    if (!options.num_decay_steps.has_value())
      return Refuse("warmup_stable_decay needs num_decay_steps: give the number of steps that the rate falls");
    if (options.min_lr_ratio < 0 || options.min_lr_ratio > 1)
      return Refuse("min_lr_ratio is not between 0 and 1: it is a share of the learning rate");
  }
  if (type == ScheduleType::kPolynomial) {
    if (options.lr_end < 0 || options.lr_end >= learning_rate)
      return Refuse("polynomial needs lr_end between 0 and the learning rate: lower it");
    if (options.power <= 0) return Refuse("power is not positive: give 1 for a straight line");
  }
  if (options.num_cycles < 0) return Refuse("num_cycles is negative: give 0.5 for half a cosine");
  return Ok();
}

}  // namespace

int64_t Warmup::Steps(int64_t total_steps) const {
  const double share = steps > 0 ? steps : ratio;
  if (steps >= 1) return static_cast<int64_t>(steps);
  return static_cast<int64_t>(std::ceil(static_cast<double>(total_steps) * share));
}

Result<Schedule> Schedule::Create(ScheduleType type, double learning_rate, const Warmup& warmup,
                                  const ScheduleOptions& options, int64_t total_steps) {
  TM_RETURN_IF_ERROR(CheckOptions(type, learning_rate, options));
  return Schedule(type, learning_rate, options, warmup.Steps(total_steps), total_steps);
}

Schedule::Schedule(ScheduleType type, double learning_rate, const ScheduleOptions& options, int64_t warmup_steps,
                   int64_t total_steps)
    : type_(type),
      learning_rate_(learning_rate),
      options_(options),
      warmup_steps_(type == ScheduleType::kConstant ? 0 : warmup_steps),
      total_steps_(total_steps) {
  if (options_.min_lr.has_value()) options_.min_lr_rate = learning_rate > 0 ? *options_.min_lr / learning_rate : 0;
  if (!options_.num_stable_steps.has_value())
    options_.num_stable_steps = total_steps - warmup_steps - options_.num_decay_steps.value_or(0);
  if (!options_.timescale.has_value()) options_.timescale = warmup_steps > 0 ? warmup_steps : 10'000;
}

double Schedule::LearningRate(int64_t step) const { return learning_rate_ * std::clamp(Factor(step), 0.0, 1.0); }

double Schedule::Factor(int64_t step) const {
  if (type_ == ScheduleType::kWarmupStableDecay) return StableDecayFactor(step);
  if (step < warmup_steps_) return Share(step, warmup_steps_);
  const int64_t decay_steps = total_steps_ - warmup_steps_;
  // Beyond the end a cosine would come up again.
  const double progress = std::min(1.0, Share(step - warmup_steps_, decay_steps));
  switch (type_) {
    case ScheduleType::kLinear:
      return std::max(0.0, Share(total_steps_ - step, decay_steps));
    case ScheduleType::kCosine:
      return CosineFall(progress, options_.num_cycles);
    case ScheduleType::kCosineWithMinLr:
      return CosineFall(progress, options_.num_cycles) * (1 - *options_.min_lr_rate) + *options_.min_lr_rate;
    case ScheduleType::kInverseSqrt: {
      const int64_t shift = *options_.timescale - warmup_steps_;
      return 1 / std::sqrt(static_cast<double>(step + shift) / static_cast<double>(*options_.timescale));
    }
    case ScheduleType::kPolynomial: {
      if (decay_steps <= 0) return options_.lr_end / learning_rate_;
      const double fallen = std::pow(1 - progress, options_.power);
      return ((learning_rate_ - options_.lr_end) * fallen + options_.lr_end) / learning_rate_;
    }
    case ScheduleType::kConstant:
    case ScheduleType::kConstantWithWarmup:
    case ScheduleType::kWarmupStableDecay:
      break;
  }
  return 1;
}

double Schedule::StableDecayFactor(int64_t step) const {
  const double floor = options_.min_lr_ratio;
  if (step < warmup_steps_) return Rise(options_.warmup_type, Share(step, warmup_steps_)) * (1 - floor) + floor;
  const int64_t into_decay = step - warmup_steps_ - *options_.num_stable_steps;
  if (into_decay < 0) return 1;
  if (into_decay >= *options_.num_decay_steps) return floor;
  const double progress = Share(into_decay, *options_.num_decay_steps);
  return Fall(options_.decay_type, progress, options_.num_cycles) * (1 - floor) + floor;
}

}  // namespace tidemill::train
