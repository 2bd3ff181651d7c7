#include "cpu_adam/self_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "cpu_adam/adam.h"

namespace tidemill::cpu_adam {
namespace {

constexpr size_t kGuardBytes = 64, kOffset = 3;
constexpr std::byte kGuardByte{0x5a};
constexpr const char* kMasters[] = {"fp32", "split", "fp32+bf16", "fp32+fp16", "bf16"};
constexpr StateDtype kStates[] = {StateDtype::kFp32, StateDtype::kBf16, StateDtype::kInt8};

struct Shape {
  size_t count, master;
  StateDtype state;
  bool bf16_grad;
};

// The streams of a tile one after another, each misaligned by kOffset elements and surrounded by guards.
class Workspace {
 public:
  explicit Workspace(const Shape& shape) : shape_(shape) {
    const size_t n = shape.count, moment = MomentBytes(shape.state, 1'000'000) / 1'000'000;
    const size_t grad = shape.bf16_grad ? 2 : 4;
    const size_t sizes[] = {n * 4, n * 2, n * 2, MomentBytes(shape.state, n), MomentBytes(shape.state, n), n * grad};
    const size_t elements[] = {4, 2, 2, moment, moment, grad};
    size_t end = 0;
    for (size_t s = 0; s < std::size(sizes); ++s) {
      begin_[s] = (end + kGuardBytes + 63) / 64 * 64 + kOffset * elements[s];
      end = end_[s] = begin_[s] + sizes[s];
    }
    bytes_.assign(end + kGuardBytes, kGuardByte);
    for (size_t i = 0; i < n; ++i) Fill(i);
    std::vector<float> m(n), v(n);
    for (size_t i = 0; i < n; ++i) {
      m[i] = Value(i, 1) * 1e-2F;
      v[i] = (1.5F + Value(i, 2)) * 1e-4F;
    }
    EncodeMoments(m, v, {}, Tile().moments);
  }

  TileView Tile() {
    float* const master = At<float>(0);
    uint16_t *const param = At<uint16_t>(1), *const rest = At<uint16_t>(2);
    const MasterView masters[] = {Fp32Master{master}, SplitMasterView{param, rest}, Fp32MasterBf16Copy{master, param},
                                  Fp32MasterF16Copy{master, param}, Bf16Master{param}};
    const GradView grad = shape_.bf16_grad ? GradView(Bf16Grad{At<uint16_t>(5)}) : GradView(Fp32Grad{At<float>(5)});
    return {.count = shape_.count,
            .master = masters[shape_.master],
            .moments = PageMoments(shape_.state, At<std::byte>(3), At<std::byte>(4), shape_.count),
            .grad = grad,
            .rounding = {.seed = 1, .step = 2, .first_element = 4}};
  }

  // In float64; before a step these are its inputs, after it its results.
  struct Element {
    double p, m, v, g;
  };
  Element Read(size_t i) {
    const double p = kMasters[shape_.master] == std::string_view("split")
                         ? JoinMaster(At<uint16_t>(1)[i], At<uint16_t>(2)[i])
                         : At<float>(0)[i];
    const double g = shape_.bf16_grad ? Bf16ToFloat(At<uint16_t>(5)[i]) : At<float>(5)[i];
    return {p, At<float>(3)[i], At<float>(4)[i], g};
  }

  bool GuardsHold() const {
    size_t at = 0;
    for (size_t s = 0; s < std::size(begin_); ++s) {
      for (; at < begin_[s]; ++at) {
        if (bytes_[at] != kGuardByte) return false;
      }
      at = end_[s];
    }
    return std::all_of(bytes_.begin() + static_cast<std::ptrdiff_t>(at), bytes_.end(),
                       [](std::byte b) { return b == kGuardByte; });
  }
  bool operator==(const Workspace& other) const { return bytes_ == other.bytes_; }

 private:
  // In (-1, 1), by a linear congruence of the position.
  static float Value(size_t i, size_t stream) {
    const auto hash = static_cast<uint32_t>((i * 4 + stream + 1) * 2654435761U) >> 8;
    return static_cast<float>(hash) * 0x1p-23F - 1.0F;
  }
  void Fill(size_t i) {
    const float p = Value(i, 0) + (Value(i, 0) < 0 ? -0.5F : 0.5F), g = Value(i, 3) * 1e-2F;
    const SplitBits bits = SplitMaster(p);
    At<float>(0)[i] = p;
    At<uint16_t>(1)[i] = bits.param;
    At<uint16_t>(2)[i] = bits.rest;
    if (shape_.bf16_grad) At<uint16_t>(5)[i] = RoundToBf16Even(g);
    if (!shape_.bf16_grad) At<float>(5)[i] = g;
  }
  template <typename T>
  T* At(size_t stream) {
    return reinterpret_cast<T*>(bytes_.data() + begin_[stream]);
  }

  Shape shape_;
  size_t begin_[6], end_[6];
  std::vector<std::byte> bytes_;
};

AdamCoefficients Coefficients() { return MakeAdamCoefficients({.learning_rate = 1e-3}, 0.01, 2, 0.5); }

bool WithinTwoUlp(double value, double exact, double before) {
  const auto largest = static_cast<float>(std::max({std::abs(exact), std::abs(before), std::abs(exact - before)}));
  return std::abs(value - exact) <= 2 * (double{std::nextafter(largest, INFINITY)} - double{largest});
}

bool MatchesFloat64(Workspace& before, Workspace& after, size_t count) {
  const AdamCoefficients k = Coefficients();
  for (size_t i = 0; i < count; ++i) {
    const auto from = before.Read(i), to = after.Read(i);
    const double g = from.g * k.grad_scale;
    const double m = double{k.beta1} * from.m + double{k.one_minus_beta1} * g;
    const double v = double{k.beta2} * from.v + double{k.one_minus_beta2} * g * g;
    const double p =
        from.p * k.decay + double{k.negative_step_size} * m / (std::sqrt(v) * k.inverse_sqrt_bias2 + k.epsilon);
    if (!WithinTwoUlp(to.m, m, from.m) || !WithinTwoUlp(to.v, v, from.v) || !WithinTwoUlp(to.p, p, from.p))
      return false;
  }
  return true;
}

tl::unexpected<Error> Failure(const Shape& shape, Isa isa, size_t threads, const std::string& what) {
  return Fail(ErrorCode::kUnavailable,
              "the Adam kernel is wrong on this CPU: " + what + " (" + std::string(IsaName(isa)) + ", " +
                  kMasters[shape.master] + " parameters, " + std::string(StateDtypeName(shape.state)) + " state, " +
                  (shape.bf16_grad ? "bf16" : "fp32") + " gradient, " + std::to_string(shape.count) + " elements, " +
                  std::to_string(threads) + " threads): report it, and use another --isa until then");
}

Result<size_t> CheckShape(const Shape& shape, std::span<const Isa> isas, std::span<ThreadTeam* const> teams) {
  const Workspace start(shape);
  Workspace before = start, witness = start;
  StepTile(Coefficients(), witness.Tile(), Isa::kScalar);
  const bool exact = shape.state == StateDtype::kFp32 && shape.master < 4;
  size_t checked = 0;
  for (const Isa isa : isas) {
    for (ThreadTeam* team : teams) {
      Workspace after = start;
      if (!StepTile(Coefficients(), after.Tile(), *team, isa))
        return Failure(shape, isa, team->size(), "a result is not finite");
      if (!after.GuardsHold()) return Failure(shape, isa, team->size(), "it writes outside its tile");
      if (!(after == witness)) return Failure(shape, isa, team->size(), "it differs from the scalar kernel");
      if (exact && !MatchesFloat64(before, after, shape.count))
        return Failure(shape, isa, team->size(), "it is more than 2 ulp from float64");
      ++checked;
    }
  }
  return checked;
}

}  // namespace

Result<size_t> CheckKernels(std::span<const Isa> isas) {
  ThreadTeam one(1), seven(7);
  ThreadTeam* const teams[] = {&one, &seven};
  std::vector<size_t> lengths;
  for (size_t n = 1; n <= 130; ++n) lengths.push_back(n);
  lengths.insert(lengths.end(), {1023, 1024, 1025, 4097});
  size_t checked = 0;
  for (size_t master = 0; master < std::size(kMasters); ++master) {
    for (const StateDtype state : kStates) {
      for (const bool bf16_grad : {false, true}) {
        for (const size_t count : lengths) {
          TM_ASSIGN_OR_RETURN(const size_t tiles, CheckShape({count, master, state, bf16_grad}, isas, teams));
          checked += tiles;
        }
      }
    }
  }
  return checked;
}

}  // namespace tidemill::cpu_adam
