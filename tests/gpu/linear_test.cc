#include "gpu/kernels/linear.h"

#include <dirent.h>
#include <gtest/gtest.h>

#include "base/aligned_buffer.h"
#include "tests/gpu/numbers.h"

namespace tidemill::gpu {
namespace {

struct Shape {
  int64_t rows, in, out;
};
// Odd ones, single rows and columns, and some that make several tiles each way.
const std::vector<Shape> kShapes = {{1, 1, 1}, {3, 17, 5}, {33, 64, 1}, {130, 48, 400}, {257, 401, 33}, {16, 1, 19}};

std::vector<uint16_t> ToBf16(std::vector<float>& values) {
  std::vector<uint16_t> halves;
  for (float& value : values) {
    halves.push_back(RoundToBf16Even(value));
    value = Bf16ToFloat(halves.back());
  }
  return halves;
}

// One layer with everything that its three operations read and write; `shift` floats move every address.
struct Layer {
  Layer(Shape s, DType dtype, size_t threads, size_t shift = 0)
      : shape(s),
        team(threads),
        x(Random(s.rows * s.in, 1)),
        dy(Random(s.rows * s.out, 2)),
        w(Random(s.out * s.in, 3)),
        bias(Random(s.out, 4)),
        y(Random(s.rows * s.out, 5)),
        dx(Random(s.rows * s.in, 6)),
        dw(Random(s.out * s.in, 7)),
        dbias(Random(s.out, 8)) {
    if (dtype == DType::kBf16) half_w = ToBf16(w), half_bias = ToBf16(bias);
    for (auto* values : {&x, &dy, &w, &y, &dx, &dw}) values->insert(values->begin(), shift, 0.0F);
    weights = {dtype == DType::kBf16 ? BytesOf(half_w.data()) : BytesOf(w.data() + shift), dtype, s.out, s.in};
    bias_view = {dtype == DType::kBf16 ? BytesOf(half_bias.data()) : BytesOf(bias.data()), dtype, s.out, 1};
    workspace = AlignedBuffer::Allocate(LinearWorkspaceBytes(s.in, s.in * s.out) + 4096).value();
    const LinearContext context{team, RowKernelsOf(CpuIsa()), workspace.span().subspan(shift * 64)};
    LinearForward(context, x.data() + shift, weights, bias_view, y.data() + shift, s.rows, shift % 2 == 1);
    LinearBackwardInput(context, dy.data() + shift, weights, dx.data() + shift, s.rows, shift % 2 == 1);
    LinearBackwardWeights(context, x.data() + shift, dy.data() + shift, s.in, s.out,
                          {dw.data() + shift, shift % 2 == 1}, {dbias.data(), shift % 2 == 1}, s.rows);
    for (auto* values : {&x, &dy, &w, &y, &dx, &dw})
      values->erase(values->begin(), values->begin() + static_cast<std::ptrdiff_t>(shift));
  }

  Shape shape;
  ThreadTeam team;
  std::vector<float> x, dy, w, bias, y, dx, dw, dbias;
  std::vector<uint16_t> half_w, half_bias;
  Weights weights, bias_view;
  AlignedBuffer workspace;
};

// [m, n] = sum over k of left(i, k) right(k, j), plus start, in double.
template <typename Left, typename Right>
std::vector<double> Product(int64_t m, int64_t n, int64_t k, const Left& left, const Right& right,
                            std::vector<float> start) {
  std::vector<double> out(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = start.empty() ? 0 : static_cast<double>(start[static_cast<size_t>(i * n + j)]);
      for (int64_t p = 0; p < k; ++p) sum += static_cast<double>(left(i, p)) * static_cast<double>(right(p, j));
      out[static_cast<size_t>(i * n + j)] = sum;
    }
  }
  return out;
}

class LinearTest : public testing::TestWithParam<DType> {};

TEST_P(LinearTest, MatchesDoublePrecisionOverwritingAndAdding) {
  for (const Shape& s : kShapes) {
    for (const size_t shift : {0U, 1U}) {
      SCOPED_TRACE(testing::Message() << s.rows << " x " << s.in << " -> " << s.out << ", adding " << shift);
      const Layer layer(s, GetParam(), 2, shift);
      const auto at = [](const std::vector<float>& values, int64_t index) {
        return values[static_cast<size_t>(index)];
      };
      const auto start = [&](int64_t count, uint32_t seed) {
        return shift == 0 ? std::vector<float>{} : Random(count, seed);
      };
      auto y = Product(
          s.rows, s.out, s.in, [&](int64_t r, int64_t i) { return at(layer.x, r * s.in + i); },
          [&](int64_t i, int64_t o) { return at(layer.w, o * s.in + i); }, start(s.rows * s.out, 5));
      for (size_t i = 0; i < y.size(); ++i) y[i] += static_cast<double>(layer.bias[i % layer.bias.size()]);
      ExpectNear(layer.y, y, 5e-5);
      ExpectNear(layer.dx,
                 Product(
                     s.rows, s.in, s.out, [&](int64_t r, int64_t o) { return at(layer.dy, r * s.out + o); },
                     [&](int64_t o, int64_t i) { return at(layer.w, o * s.in + i); }, start(s.rows * s.in, 6)),
                 5e-5);
      ExpectNear(layer.dw,
                 Product(
                     s.out, s.in, s.rows, [&](int64_t o, int64_t r) { return at(layer.dy, r * s.out + o); },
                     [&](int64_t r, int64_t i) { return at(layer.x, r * s.in + i); }, start(s.out * s.in, 7)),
                 5e-5);
      ExpectNear(layer.dbias,
                 Product(
                     1, s.out, s.rows, [](int64_t, int64_t) { return 1.0F; },
                     [&](int64_t r, int64_t o) { return at(layer.dy, r * s.out + o); }, start(s.out, 8)),
                 5e-5);
    }
  }
}

TEST_P(LinearTest, ThreadsAndAddressesChangeNoBit) {
  for (const Shape& s : {Shape{257, 401, 33}, Shape{130, 48, 800}, Shape{512, 64, 192}}) {
    const Layer one(s, GetParam(), 1);
    for (const auto& [threads, shift] : {std::pair<size_t, size_t>{2, 0}, {3, 0}, {2, 2}, {2, 6}, {1, 16}}) {
      const Layer other(s, GetParam(), threads, shift);
      EXPECT_TRUE(SameBits(one.y, other.y)) << threads << " threads, shift " << shift;
      EXPECT_TRUE(SameBits(one.dx, other.dx)) << threads << " threads, shift " << shift;
      EXPECT_TRUE(SameBits(one.dw, other.dw)) << threads << " threads, shift " << shift;
      EXPECT_TRUE(SameBits(one.dbias, other.dbias)) << threads << " threads, shift " << shift;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Weights, LinearTest, testing::Values(DType::kF32, DType::kBf16),
                         [](const auto& instance) { return instance.param == DType::kF32 ? "Fp32" : "Bf16"; });

size_t ThreadsOfThisProcess() {
  size_t count = 0;
  DIR* const folder = ::opendir("/proc/self/task");
  while (const dirent* entry = ::readdir(folder)) count += entry->d_name[0] != '.' ? 1 : 0;
  ::closedir(folder);
  return count;
}

TEST(Linear, StartsNoThreadsOfItsOwn) {
  std::thread([] {}).join();  // a sanitizer's own thread starts with the first of ours
  const size_t before = ThreadsOfThisProcess();
  const Layer layer({512, 64, 800}, DType::kF32, 2);
  EXPECT_EQ(ThreadsOfThisProcess(), before + 1);  // the team's second member, alive as long as the layer
}

}  // namespace
}  // namespace tidemill::gpu
