// The AdamW rule of one element, written once over a vector type S, so that every instruction set, and a device that
// holds its own state, gives the same bits. Loshchilov & Hutter, "Decoupled Weight Decay Regularization" (2019), 2:
//
//   m = beta1 m + (1 - beta1) g
//   v = beta2 v + (1 - beta2) g^2
//   p = p (1 - lr wd) - lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
//
// Every product feeding a sum is one fused multiply-add, in the order written here: that order is part of the contract.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tidemill {

struct AdamConfig {
  double learning_rate = 0, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
};

// What one step needs, rounded to float once from double arithmetic. `step` is 1-based and counts applied steps.
struct AdamCoefficients {
  float beta1, beta2, one_minus_beta1, one_minus_beta2, negative_step_size, inverse_sqrt_bias2, epsilon;
  float decay;       // 1 - lr * weight_decay, of the tensor at hand
  float grad_scale;  // multiplies every gradient as it is read: the clipping factor
};

inline AdamCoefficients MakeAdamCoefficients(const AdamConfig& config, double weight_decay, int64_t step,
                                             double grad_scale) {
  const double bias1 = 1.0 - std::pow(config.beta1, static_cast<double>(step));
  const double bias2 = 1.0 - std::pow(config.beta2, static_cast<double>(step));
  return {
      .beta1 = static_cast<float>(config.beta1),
      .beta2 = static_cast<float>(config.beta2),
      .one_minus_beta1 = static_cast<float>(1.0 - config.beta1),
      .one_minus_beta2 = static_cast<float>(1.0 - config.beta2),
      .negative_step_size = static_cast<float>(-config.learning_rate / bias1),
      .inverse_sqrt_bias2 = static_cast<float>(1.0 / std::sqrt(bias2)),
      .epsilon = static_cast<float>(config.epsilon),
      .decay = static_cast<float>(1.0 - config.learning_rate * weight_decay),
      .grad_scale = static_cast<float>(grad_scale),
  };
}

// S supplies V and Set, Mul, Fma(a, b, c) = a*b + c, Sqrt, Div. `master`, `m`, `v` are updated in place.
template <typename S>
[[gnu::always_inline]] inline void AdamRule(const AdamCoefficients& k, typename S::V& master, typename S::V& m,
                                            typename S::V& v, typename S::V grad) {
  const auto g = S::Mul(grad, S::Set(k.grad_scale));
  m = S::Fma(S::Set(k.beta1), m, S::Mul(S::Set(k.one_minus_beta1), g));
  v = S::Fma(S::Set(k.beta2), v, S::Mul(S::Set(k.one_minus_beta2), S::Mul(g, g)));
  const auto denominator = S::Fma(S::Sqrt(v), S::Set(k.inverse_sqrt_bias2), S::Set(k.epsilon));
  master = S::Fma(S::Set(k.negative_step_size), S::Div(m, denominator), S::Mul(master, S::Set(k.decay)));
}

}  // namespace tidemill
