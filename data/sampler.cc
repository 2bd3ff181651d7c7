#include "data/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/split_mix64.h"

namespace tidemill::data {
namespace {

// Each of 0 to n - 1 with the same chance.
uint32_t Below(uint32_t n, SplitMix64& random) {
  const uint32_t unfair = (0u - n) % n;
  for (;;) {
    const uint64_t product = (random.Next() >> 32) * n;
    if (static_cast<uint32_t>(product) >= unfair) return static_cast<uint32_t>(product >> 32);
  }
}

uint64_t CeilDiv(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

}  // namespace

Sampler::Sampler(const SamplerOptions& options)
    : options_(options),
      batches_per_epoch_(CeilDiv(options.records, std::max<uint64_t>(1, options.micro_batch_size))),
      steps_per_epoch_(CeilDiv(batches_per_epoch_, std::max<uint64_t>(1, options.accumulation_steps))) {
  TM_CHECK(options.records > 0 && options.records < UINT32_MAX);
  TM_CHECK(options.micro_batch_size > 0 && options.accumulation_steps > 0);
}

uint64_t Sampler::StepsOf(double epochs) const {
  return static_cast<uint64_t>(std::ceil(epochs * static_cast<double>(steps_per_epoch_)));
}

std::vector<uint32_t> Sampler::OrderOf(const SamplerOptions& options, uint64_t epoch) {
  std::vector<uint32_t> order(static_cast<size_t>(options.records));
  std::iota(order.begin(), order.end(), 0u);
  if (!options.shuffle) return order;
  // The first output of each starts the next, so that neighbouring seeds and epochs have unrelated orders.
  SplitMix64 random(SplitMix64(SplitMix64(options.seed).Next() ^ epoch).Next());
  for (size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[Below(static_cast<uint32_t>(i + 1), random)]);
  return order;
}

Window Sampler::WindowOf(uint64_t step) {
  const uint64_t epoch = step / steps_per_epoch_;
  if (order_epoch_ != epoch) {
    order_ = OrderOf(options_, epoch);
    order_epoch_ = epoch;
  }
  const uint64_t in_epoch = step % steps_per_epoch_;
  Window window{epoch, in_epoch + 1 == steps_per_epoch_, {}};
  const uint64_t first_batch = in_epoch * options_.accumulation_steps;
  const uint64_t batches = std::min(options_.accumulation_steps, batches_per_epoch_ - first_batch);
  for (uint64_t batch = first_batch; batch < first_batch + batches; ++batch) {
    const uint64_t first = batch * options_.micro_batch_size;
    const uint64_t end = std::min(first + options_.micro_batch_size, options_.records);
    window.micro_batches.emplace_back(order_.begin() + static_cast<std::ptrdiff_t>(first),
                                      order_.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return window;
}

double Sampler::EpochsAfter(uint64_t steps) const {
  const uint64_t whole = steps / steps_per_epoch_;
  const uint64_t batches = steps % steps_per_epoch_ * options_.accumulation_steps;
  return static_cast<double>(whole) + static_cast<double>(batches) / static_cast<double>(batches_per_epoch_);
}

}  // namespace tidemill::data
