#include "gpu/kernels/row_operations.h"

#include "base/dtype.h"
#include "tests/gpu/numbers.h"

namespace tidemill::gpu {
namespace {

double At(const std::vector<float>& values, int64_t index) {
  return static_cast<double>(values[static_cast<size_t>(index)]);
}

// Everything that the row-wise operations produce for one odd shape: compared with doubles once, and bit by bit between
// thread counts and instruction sets.
struct Outputs {
  Outputs(Isa isa, size_t threads, int64_t rows, int64_t cols, bool adding, DType weights)
      : x(Random(rows * cols, 1)),
        w(Random(cols, 2)),
        dy(Random(rows * cols, 3)),
        y(static_cast<size_t>(rows * cols)),
        dx(Random(rows * cols, 4)),
        inverse_rms(static_cast<size_t>(rows)),
        dw(Random(cols, 5)),
        gated(Random(rows * cols, 6)),
        dgate(static_cast<size_t>(rows * cols)),
        dup(static_cast<size_t>(rows * cols)) {
    ThreadTeam team(threads);
    const RowContext context{team, RowKernelsOf(isa)};
    std::vector<uint16_t> half_w;
    for (float& value : w) {
      half_w.push_back(RoundToBf16Even(value));
      if (weights == DType::kBf16) value = Bf16ToFloat(half_w.back());
    }
    const Weights view{weights == DType::kBf16 ? BytesOf(half_w.data()) : BytesOf(w.data()), weights, cols, 1};
    RmsNormForward(context, x.data(), view, 1e-5F, y.data(), inverse_rms.data(), rows, cols);
    RmsNormBackward(context, x.data(), view, inverse_rms.data(), dy.data(), dx.data(), adding, {dw.data(), adding},
                    rows, cols);
    SwiGluBackward(context, x.data(), gated.data(), dy.data(), dgate.data(), dup.data(), rows * cols);
    SwiGluForward(context, x.data(), gated.data(), gated.data(), rows * cols);
  }

  std::vector<float> x, w, dy;
  std::vector<float> y, dx, inverse_rms, dw, gated, dgate, dup;
};

class RowOperationsTest : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (GetParam() > CpuIsa()) GTEST_SKIP() << "this processor has no " << IsaName(GetParam());
  }
};

TEST_P(RowOperationsTest, RmsNormMatchesDoublePrecision) {
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{1, 1}, {3, 17}, {200, 100}, {7, 576}, {70, 15}}) {
    for (const bool adding : {false, true}) {
      const DType dtype = adding ? DType::kBf16 : DType::kF32;
      const Outputs out(GetParam(), 2, rows, cols, adding, dtype);
      const std::vector<float> start_dx = Random(rows * cols, 4), start_dw = Random(cols, 5);
      std::vector<double> y, dx, dw(static_cast<size_t>(cols), 0.0);
      for (int64_t r = 0; r < rows; ++r) {
        double squares = 0, slope = 0;
        for (int64_t c = 0; c < cols; ++c) squares += std::pow(At(out.x, r * cols + c), 2);
        const double inverse = 1 / std::sqrt(squares / static_cast<double>(cols) + 1e-5);
        for (int64_t c = 0; c < cols; ++c)
          slope += At(out.dy, r * cols + c) * At(out.w, c) * At(out.x, r * cols + c) / static_cast<double>(cols);
        for (int64_t c = 0; c < cols; ++c) {
          const double xr = At(out.x, r * cols + c), dyr = At(out.dy, r * cols + c);
          y.push_back(xr * inverse * At(out.w, c));
          dx.push_back(inverse * dyr * At(out.w, c) - xr * inverse * inverse * inverse * slope +
                       (adding ? At(start_dx, r * cols + c) : 0));
          dw[static_cast<size_t>(c)] += dyr * xr * inverse;
        }
      }
      for (int64_t c = 0; adding && c < cols; ++c) dw[static_cast<size_t>(c)] += At(start_dw, c);
      ExpectNear(out.y, y, 1e-6);
      ExpectNear(out.dx, dx, 2e-6);
      ExpectNear(out.dw, dw, 1e-5);
    }
  }
}

TEST_P(RowOperationsTest, SwiGluMatchesDoublePrecisionAlsoInPlace) {
  const Outputs out(GetParam(), 2, 3, 33, false, DType::kF32);
  const std::vector<float> up = Random(99, 6);
  std::vector<double> forward, dgate, dup;
  for (size_t i = 0; i < 99; ++i) {
    const double g = static_cast<double>(out.x[i]), u = static_cast<double>(up[i]), d = static_cast<double>(out.dy[i]);
    const double s = 1 / (1 + std::exp(-g));
    forward.push_back(g * s * u);
    dgate.push_back(d * u * s * (1 + g * (1 - s)));
    dup.push_back(d * g * s);
  }
  ExpectNear(out.gated, forward, 1e-6);
  ExpectNear(out.dgate, dgate, 1e-6);
  ExpectNear(out.dup, dup, 1e-6);
}

TEST_P(RowOperationsTest, SwiGluOfLargeGatesIsFinite) {
  ThreadTeam team(1);
  const RowContext context{team, RowKernelsOf(GetParam())};
  std::vector<float> gate{-1e4F, -100, 100, 1e4F}, up(4, 1.0F), d(4, 1.0F), out(4);
  SwiGluForward(context, gate.data(), up.data(), out.data(), 4);
  EXPECT_EQ(out, (std::vector<float>{0, out[1], 100, 1e4F}));
  SwiGluBackward(context, gate.data(), up.data(), d.data(), gate.data(), up.data(), 4);
  for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(std::isfinite(gate[i]) && std::isfinite(up[i]));
}

TEST_P(RowOperationsTest, ThreadsAndInstructionSetsChangeNoBit) {
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{333, 100}, {70, 1000}}) {
    const Outputs one(Isa::kBaseline, 1, rows, cols, true, DType::kF32);
    for (const size_t threads : {1U, 2U, 3U}) {
      const Outputs other(GetParam(), threads, rows, cols, true, DType::kF32);
      EXPECT_TRUE(SameBits(one.y, other.y) && SameBits(one.inverse_rms, other.inverse_rms)) << threads;
      EXPECT_TRUE(SameBits(one.dx, other.dx) && SameBits(one.dw, other.dw)) << threads;
      EXPECT_TRUE(SameBits(one.gated, other.gated)) << threads;
      EXPECT_TRUE(SameBits(one.dgate, other.dgate) && SameBits(one.dup, other.dup)) << threads;
    }
  }
}

TEST_P(RowOperationsTest, RopeRotatesByThePositionAndBack) {
  constexpr int64_t kRows = 5;
  constexpr int32_t kHeads = 3, kDim = 22, kHalf = kDim / 2;
  ThreadTeam team(2);
  const RowContext context{team, RowKernelsOf(GetParam())};
  const std::vector<float> before = Random(kRows * kHeads * kDim, 1), angles = Random(7 * kHalf, 2);
  std::vector<float> x = before, cosines, sines;
  for (const float angle : angles) cosines.push_back(std::cos(angle)), sines.push_back(std::sin(angle));
  const std::vector<int32_t> positions{6, 0, 3, 3, 1};
  Rope(context, x.data(), positions.data(), cosines.data(), sines.data(), kRows, kHeads, kDim, false);
  std::vector<double> rotated(x.size()), original(before.begin(), before.end());
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t h = 0; h < kHeads; ++h) {
      for (int64_t i = 0; i < kHalf; ++i) {
        const int64_t a = (r * kHeads + h) * kDim + i, b = a + kHalf;
        const double angle = At(angles, positions[static_cast<size_t>(r)] * kHalf + i);
        rotated[static_cast<size_t>(a)] = At(before, a) * std::cos(angle) - At(before, b) * std::sin(angle);
        rotated[static_cast<size_t>(b)] = At(before, b) * std::cos(angle) + At(before, a) * std::sin(angle);
      }
    }
  }
  ExpectNear(x, rotated, 1e-6);
  Rope(context, x.data(), positions.data(), cosines.data(), sines.data(), kRows, kHeads, kDim, true);
  ExpectNear(x, original, 1e-6);
}

TEST_P(RowOperationsTest, AddAddsEveryElement) {
  ThreadTeam team(2);
  const std::vector<float> x = Random(20'001, 1), y = Random(20'001, 2);
  std::vector<float> sum = y, expected = y;
  Add({team, RowKernelsOf(GetParam())}, x.data(), sum.data(), 20'001);
  for (size_t i = 0; i < x.size(); ++i) expected[i] += x[i];
  EXPECT_TRUE(SameBits(sum, expected));
}

INSTANTIATE_TEST_SUITE_P(Isas, RowOperationsTest, testing::Values(Isa::kBaseline, Isa::kAvx2, Isa::kAvx512),
                         [](const auto& instance) { return std::string(IsaName(instance.param)); });

}  // namespace
}  // namespace tidemill::gpu
