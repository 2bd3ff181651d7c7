// A tile of random but fixed content in any combination of forms, at any offset from alignment, with guard bytes around
// every stream.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <random>
#include <vector>

#include "base/dtype.h"
#include "cpu_adam/adam.h"

namespace tidemill::cpu_adam::tests {

enum class Master { kFp32, kSplit, kFp32Bf16Copy, kFp32F16Copy, kBf16 };
inline constexpr std::array kMasters{Master::kFp32, Master::kSplit, Master::kFp32Bf16Copy, Master::kFp32F16Copy,
                                     Master::kBf16};
inline constexpr std::array kStates{StateDtype::kFp32, StateDtype::kBf16, StateDtype::kInt8};
inline constexpr size_t kGuard = 64;

// `count` elements of `element_bytes` that start `offset` elements past an aligned address.
class Stream {
 public:
  Stream() = default;
  Stream(size_t payload_bytes, size_t offset_bytes)
      : payload_(payload_bytes),
        offset_(offset_bytes),
        bytes_(payload_bytes + offset_bytes + 2 * kGuard, std::byte{0xa5}) {}

  std::byte* data() { return bytes_.data() + kGuard + offset_; }
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(data());
  }
  size_t size() const { return payload_; }
  std::vector<std::byte> payload() { return {data(), data() + payload_}; }
  bool GuardsUntouched() {
    for (size_t i = 0; i < bytes_.size(); ++i) {
      const bool inside = i >= kGuard + offset_ && i < kGuard + offset_ + payload_;
      if (!inside && bytes_[i] != std::byte{0xa5}) return false;
    }
    return true;
  }

 private:
  size_t payload_ = 0, offset_ = 0;
  std::vector<std::byte> bytes_;
};

struct Shape {
  size_t count;
  size_t offset = 0;  // elements past alignment
  Master master = Master::kFp32;
  StateDtype state = StateDtype::kFp32;
  bool bf16_grad = false;
  uint64_t seed = 1;
};

class TileBuffers {
 public:
  explicit TileBuffers(const Shape& shape) : shape_(shape) {
    std::minstd_rand random(static_cast<uint32_t>(shape.seed));
    const auto bell = [&random] {  // roughly normal, and cheap under sanitizers
      float sum = 0;
      for (int i = 0; i < 4; ++i) sum += static_cast<float>(random()) * 0x1p-30F - 1;
      return sum;
    };
    const size_t n = shape.count, at = shape.offset;
    master_ = Stream(n * 4, at * 4);
    param_ = Stream(n * 2, at * 2);
    rest_ = Stream(n * 2, at * 2);
    exp_avg_ = Stream(MomentBytes(shape.state, n), at * ElementBytes());
    exp_avg_sq_ = Stream(MomentBytes(shape.state, n), at * ElementBytes());
    grad_ = Stream(n * (shape.bf16_grad ? 2 : 4), at * (shape.bf16_grad ? 2 : 4));
    std::vector<float> m(n), v(n);
    for (size_t i = 0; i < n; ++i) {
      const float p = bell(), g = bell() * 1e-2F;
      m[i] = bell() * 1e-2F;
      v[i] = bell() * bell() * 1e-4F;
      v[i] = v[i] < 0 ? -v[i] : v[i];
      std::memcpy(master_.data() + 4 * i, &p, 4);
      const SplitBits bits = SplitMaster(p);
      std::memcpy(param_.data() + 2 * i, &bits.param, 2);
      std::memcpy(rest_.data() + 2 * i, &bits.rest, 2);
      const uint16_t half = RoundToBf16Even(g);
      if (shape.bf16_grad) std::memcpy(grad_.data() + 2 * i, &half, 2);
      if (!shape.bf16_grad) std::memcpy(grad_.data() + 4 * i, &g, 4);
    }
    EncodeMoments(m, v, {}, PageMoments(shape.state, exp_avg_.data(), exp_avg_sq_.data(), n));
  }

  // Elements [first, first + count) as a tile of their own.
  TileView View(size_t first, size_t count) {
    return {.count = count,
            .master = MasterAt(first),
            .moments = PageMoments(shape_.state, exp_avg_.data(), exp_avg_sq_.data(), shape_.count, first),
            .grad = GradAt(first),
            .rounding = {.seed = 42, .step = 3, .first_element = 1000 + first}};
  }
  TileView View() { return View(0, shape_.count); }

  // Every stream's bytes: what two runs must agree on.
  std::vector<std::byte> Bytes() {
    std::vector<std::byte> all;
    for (Stream* stream : Streams()) {
      const auto bytes = stream->payload();
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    return all;
  }
  bool GuardsUntouched() {
    for (Stream* stream : Streams()) {
      if (!stream->GuardsUntouched()) return false;
    }
    return true;
  }

  float* master() { return master_.as<float>(); }
  uint16_t* param() { return param_.as<uint16_t>(); }
  uint16_t* rest() { return rest_.as<uint16_t>(); }
  std::byte* exp_avg() { return exp_avg_.data(); }
  std::byte* exp_avg_sq() { return exp_avg_sq_.data(); }
  std::byte* grad() { return grad_.data(); }

 private:
  std::array<Stream*, 6> Streams() { return {&master_, &param_, &rest_, &exp_avg_, &exp_avg_sq_, &grad_}; }
  size_t ElementBytes() const {
    return shape_.state == StateDtype::kFp32 ? 4 : shape_.state == StateDtype::kBf16 ? 2 : 1;
  }
  MasterView MasterAt(size_t first) {
    switch (shape_.master) {
      case Master::kFp32:
        return Fp32Master{master() + first};
      case Master::kSplit:
        return SplitMasterView{param() + first, rest() + first};
      case Master::kFp32Bf16Copy:
        return Fp32MasterBf16Copy{master() + first, param() + first};
      case Master::kFp32F16Copy:
        return Fp32MasterF16Copy{master() + first, param() + first};
      case Master::kBf16:
        return Bf16Master{param() + first};
    }
    return {};
  }
  GradView GradAt(size_t first) {
    if (shape_.bf16_grad) return Bf16Grad{grad_.as<uint16_t>() + first};
    return Fp32Grad{grad_.as<float>() + first};
  }

  Shape shape_;
  Stream master_, param_, rest_, exp_avg_, exp_avg_sq_, grad_;
};

inline AdamCoefficients TestCoefficients(int64_t step = 3) {
  return MakeAdamCoefficients({.learning_rate = 1e-3}, 0.01, step, 0.7);
}

}  // namespace tidemill::cpu_adam::tests
