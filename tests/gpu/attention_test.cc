#include "gpu/kernels/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace tidemill::gpu {
namespace {

struct Case {
  const char* name;
  int32_t heads, kv_heads, head_dim, window;
  std::vector<int32_t> queries, keys;  // per sequence
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

// Inputs, outputs, and the same in float64 by the definition.
struct Problem {
  explicit Problem(const Case& c) : spec(c) {
    shape = {.heads = c.heads,
             .kv_heads = c.kv_heads,
             .head_dim = c.head_dim,
             .window = c.window,
             .scale = 1.0F / std::sqrt(static_cast<float>(c.head_dim))};
    for (size_t s = 0; s < c.queries.size(); ++s) {
      query_offsets.push_back(query_offsets.back() + c.queries[s]);
      key_offsets.push_back(key_offsets.back() + c.keys[s]);
    }
    view = {.query_offsets = query_offsets.data(),
            .key_offsets = key_offsets.data(),
            .sequences = static_cast<int32_t>(c.queries.size())};
    const auto rows = static_cast<size_t>(query_offsets.back()), key_rows = static_cast<size_t>(key_offsets.back());
    const auto wide = rows * static_cast<size_t>(c.heads * c.head_dim);
    const auto narrow = key_rows * static_cast<size_t>(c.kv_heads * c.head_dim);
    std::mt19937 random(7);
    std::normal_distribution<float> normal(0, 2);
    for (auto* x : {&q, &d_o}) x->resize(wide);
    for (auto* x : {&k, &v}) x->resize(narrow);
    for (auto* x : {&q, &k, &v, &d_o})
      for (float& value : *x) value = normal(random);
    for (auto* x : {&o, &dq}) x->assign(wide, NAN);
    for (auto* x : {&dk, &dv}) x->assign(narrow, NAN);
    lse.assign(rows * static_cast<size_t>(c.heads), NAN);
  }

  void Run(Isa isa, size_t threads, bool backward) {
    ThreadTeam team(threads);
    std::vector<std::byte> workspace(AttentionWorkspaceBytes(shape, key_offsets.back(), view.sequences, threads),
                                     std::byte{0xff});
    AttentionForward(isa, team, workspace, shape, view, q.data(), k.data(), v.data(), o.data(), lse.data());
    if (!backward) return;
    AttentionBackward(isa, team, workspace, shape, view, q.data(), k.data(), v.data(), o.data(), lse.data(), d_o.data(),
                      dq.data(), dk.data(), dv.data());
  }

  Case spec;
  AttentionShape shape;
  SequenceView view;
  std::vector<int32_t> query_offsets{0}, key_offsets{0};
  std::vector<float> q, k, v, d_o, o, lse, dq, dk, dv;
};

struct Reference {
  std::vector<double> o, lse, dq, dk, dv;

  explicit Reference(const Problem& p)
      : o(p.q.size()), lse(p.lse.size()), dq(p.q.size()), dk(p.k.size()), dv(p.v.size()) {
    for (int s = 0; s < p.view.sequences; ++s)
      for (int h = 0; h < p.shape.heads; ++h)
        for (int i = 0; i < p.query_offsets[s + 1] - p.query_offsets[s]; ++i) Query(p, s, h, i);
  }

  void Query(const Problem& p, int s, int h, int i) {
    const int dim = p.shape.head_dim, queries = p.query_offsets[s + 1] - p.query_offsets[s];
    const int keys = p.key_offsets[s + 1] - p.key_offsets[s], last = i + keys - queries;
    const int first = p.shape.window > 0 ? std::max(0, last - p.shape.window + 1) : 0;
    const auto at = static_cast<size_t>(((p.query_offsets[s] + i) * p.shape.heads + h) * dim);
    const auto key = [&](int j) {
      return static_cast<size_t>(((p.key_offsets[s] + j) * p.shape.kv_heads + h / (p.shape.heads / p.shape.kv_heads)) *
                                 dim);
    };
    std::vector<double> weight;
    double sum = 0, delta = 0;
    for (int j = first; j <= last; ++j) {
      double score = 0;
      for (size_t d = 0; d < static_cast<size_t>(dim); ++d) score += double{p.q[at + d]} * p.k[key(j) + d];
      weight.push_back(std::exp(score * p.shape.scale));
      sum += weight.back();
    }
    lse[static_cast<size_t>((p.query_offsets[s] + i) * p.shape.heads + h)] = std::log(sum);
    for (int j = first; j <= last; ++j) {
      weight[static_cast<size_t>(j - first)] /= sum;
      for (size_t d = 0; d < static_cast<size_t>(dim); ++d)
        o[at + d] += weight[static_cast<size_t>(j - first)] * p.v[key(j) + d];
    }
    for (size_t d = 0; d < static_cast<size_t>(dim); ++d) delta += o[at + d] * p.d_o[at + d];
    for (int j = first; j <= last; ++j) {
      const double w = weight[static_cast<size_t>(j - first)];
      double dw = 0;
      for (size_t d = 0; d < static_cast<size_t>(dim); ++d) dw += double{p.d_o[at + d]} * p.v[key(j) + d];
      const double ds = w * (dw - delta) * p.shape.scale;
      for (size_t d = 0; d < static_cast<size_t>(dim); ++d) {
        dv[key(j) + d] += w * p.d_o[at + d];
        dq[at + d] += ds * p.k[key(j) + d];
        dk[key(j) + d] += ds * p.q[at + d];
      }
    }
  }
};

// The largest difference, as a share of the largest value or of one.
double Distance(const std::vector<float>& got, const std::vector<double>& want) {
  double difference = 0, top = 1;
  for (size_t i = 0; i < got.size(); ++i) {
    if (!std::isfinite(got[i])) return INFINITY;
    difference = std::max(difference, std::abs(got[i] - want[i]));
    top = std::max(top, std::abs(want[i]));
  }
  return difference / top;
}

std::vector<Case> TrainingCases() {
  return {{"OneToken", 1, 1, 8, 0, {1}, {1}},
          {"GroupedHeads", 6, 2, 16, 0, {70}, {70}},
          {"OddHeadDim", 2, 1, 13, 0, {33}, {33}},
          {"WideOddHeadDim", 2, 2, 75, 0, {40}, {40}},
          {"Window", 4, 2, 8, 8, {150}, {150}},
          {"WindowOfOne", 2, 1, 8, 1, {67}, {67}},
          {"WindowOfABlock", 2, 1, 8, 64, {200}, {200}},
          {"WindowLongerThanTheText", 2, 1, 8, 500, {100}, {100}},
          {"SeveralSequences", 9, 3, 24, 0, {5, 64, 1, 97, 32}, {5, 64, 1, 97, 32}}};
}

class AttentionTraining : public testing::TestWithParam<Case> {};

TEST_P(AttentionTraining, MatchesTheDefinitionInDoublePrecision) {
  Problem p(GetParam());
  p.Run(CpuIsa(), 2, true);
  const Reference want(p);
  EXPECT_LT(Distance(p.o, want.o), 3e-6);
  EXPECT_LT(Distance(p.lse, want.lse), 3e-6);
  EXPECT_LT(Distance(p.dq, want.dq), 1e-5);
  EXPECT_LT(Distance(p.dk, want.dk), 1e-5);
  EXPECT_LT(Distance(p.dv, want.dv), 1e-5);
}

TEST_P(AttentionTraining, HasTheSameBitsOnEveryInstructionSetAndThreadCount) {
  Problem first(GetParam());
  first.Run(CpuIsa(), 1, true);
  for (const Isa isa : {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512}) {
    if (isa > CpuIsa()) continue;
    for (const size_t threads : {1U, 3U}) {
      Problem other(GetParam());
      other.Run(isa, threads, true);
      EXPECT_EQ(first.o, other.o) << IsaName(isa);
      EXPECT_EQ(first.lse, other.lse) << IsaName(isa);
      EXPECT_EQ(first.dq, other.dq) << IsaName(isa);
      EXPECT_EQ(first.dk, other.dk) << IsaName(isa);
      EXPECT_EQ(first.dv, other.dv) << IsaName(isa);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionTraining, testing::ValuesIn(TrainingCases()),
                         [](const auto& test) { return test.param.name; });

class AttentionGeneration : public testing::TestWithParam<Case> {};

TEST_P(AttentionGeneration, SeesTheCachedKeys) {
  Problem p(GetParam());
  p.Run(CpuIsa(), 2, false);
  const Reference want(p);
  EXPECT_LT(Distance(p.o, want.o), 3e-6);
  EXPECT_LT(Distance(p.lse, want.lse), 3e-6);
}

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionGeneration,
                         testing::Values(Case{"OneNewToken", 9, 3, 64, 0, {1}, {130}},
                                         Case{"SeveralNewTokens", 4, 4, 20, 0, {37}, {100}},
                                         Case{"Window", 2, 1, 8, 16, {3}, {100}},
                                         Case{"TwoSequences", 2, 1, 8, 0, {1, 2}, {65, 9}}),
                         [](const auto& test) { return test.param.name; });

TEST(Attention, LargeScoresDoNotOverflow) {
  Problem p({"", 1, 1, 4, 0, {20}, {20}});
  for (float& value : p.q) value *= 100;
  p.Run(CpuIsa(), 1, true);
  for (const float value : p.dk) EXPECT_TRUE(std::isfinite(value));
  EXPECT_EQ(p.o[0], p.v[0]);  // the first token sees itself alone
}

TEST(Attention, NotANumberShows) {
  Problem p({"", 1, 1, 4, 0, {20}, {20}});
  p.k[4 * 5] = NAN;
  p.Run(CpuIsa(), 1, false);
  EXPECT_TRUE(std::isfinite(p.o[4 * 4]));
  EXPECT_TRUE(std::isnan(p.o[4 * 5]));
  EXPECT_TRUE(std::isnan(p.o[4 * 19]));
}

}  // namespace
}  // namespace tidemill::gpu
