#include "cpu_adam/bench.h"

#include <algorithm>
#include <chrono>

#include "base/aligned_buffer.h"
#include "base/byte_size.h"
#include "base/check.h"
#include "cpu_adam/adam.h"
#include "cpu_adam/kernel_table.h"
#include "cpu_adam/slice.h"

namespace tidemill::cpu_adam {
namespace {

constexpr size_t kShare = 4096;  // elements: threads cut here, as StepTile does
constexpr size_t kHugePage = size_t{2} << 20;

struct Form {
  std::string_view param, grad;
  double bytes_per_param;  // of master and gradient
};
constexpr Form kForms[] = {{"fp32", "fp32", 4 + 4 + 4},
                           {"fp32+bf16", "fp32", 4 + 4 + 2 + 4},
                           {"split", "bf16", 4 + 4 + 2},
                           {"bf16", "bf16", 2 + 2 + 2}};

double MomentBytesMoved(StateDtype dtype) {
  constexpr size_t kMany = 1 << 20;
  return 4.0 * static_cast<double>(MomentBytes(dtype, kMany)) /
         static_cast<double>(kMany);  // two moments, read and written
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

template <typename Body>
double Seconds(const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// One set of streams, large enough for every form, a huge page between them: where streams lie a large power of two
// apart, the caches of some CPUs take their lines for one another, which is what would be measured (AMD's way predictor
// compares address bits 12 to 27; twofold and more).
class Streams {
 public:
  static Result<Streams> Allocate(size_t elements) {
    Streams streams;
    streams.count_ = elements;
    const size_t sizes[] = {elements * 4, elements * 2, elements * 4, elements * 4, elements * 4};
    std::byte** const begins[] = {&streams.master_, &streams.copy_, &streams.exp_avg_, &streams.exp_avg_sq_,
                                  &streams.grad_};
    size_t total = 0;
    for (const size_t size : sizes) total += AlignUp(size, kHugePage) + kHugePage;
    TM_ASSIGN_OR_RETURN(streams.memory_, AlignedBuffer::Allocate(total));
    std::byte* next = streams.memory_.data();
    for (size_t s = 0; s < std::size(sizes); ++s) {
      *begins[s] = next;
      next += AlignUp(sizes[s], kHugePage) + kHugePage;
    }
    return streams;
  }

  // Writes ordinary values in a row's encoding: 0.5 and its like in either width; int8 codes of about 0.01.
  void Fill(const Form& form, StateDtype state, ThreadTeam& team) {
    const uint32_t fp32 = 0x3f000000, halves = 0x3f003f00, codes = 0x38383838;
    FillWords(master_, 4, form.param.starts_with("fp32") ? fp32 : halves, team);
    FillWords(copy_, 2, halves, team);
    const uint32_t moment = state == StateDtype::kFp32 ? fp32 : state == StateDtype::kBf16 ? halves : codes;
    FillWords(exp_avg_, 4, moment, team);
    FillWords(exp_avg_sq_, 4, moment, team);
    FillWords(grad_, 4, form.grad == "fp32" ? fp32 : halves, team);
  }

  TileView Tile(const Form& form, StateDtype state, int64_t step) const {
    auto* const master = reinterpret_cast<float*>(master_);
    auto* const halves = reinterpret_cast<uint16_t*>(master_);
    TileView tile{.count = count_,
                  .master = Fp32Master{master},
                  .moments = PageMoments(state, exp_avg_, exp_avg_sq_, count_),
                  .grad = Fp32Grad{reinterpret_cast<const float*>(grad_)},
                  .rounding = {.seed = 1, .step = step}};
    if (form.param == "fp32+bf16") tile.master = Fp32MasterBf16Copy{master, reinterpret_cast<uint16_t*>(copy_)};
    if (form.param == "split") tile.master = SplitMasterView{halves, halves + count_};
    if (form.param == "bf16") tile.master = Bf16Master{halves};
    if (form.grad == "bf16") tile.grad = Bf16Grad{reinterpret_cast<const uint16_t*>(grad_)};
    return tile;
  }

  // Factors of one and zero: the streams are read and written, and keep their values.
  void Mix(Isa isa, bool prefetch, ThreadTeam& team) const {
    Slice slice{};
    slice.count = count_;
    slice.master = reinterpret_cast<float*>(master_);
    slice.exp_avg = exp_avg_;
    slice.exp_avg_sq = exp_avg_sq_;
    slice.grad = grad_;
    team.For(count_, kShare, [&](size_t begin, size_t end) {
      KernelsOf(isa).mix(SubSlice(slice, begin, end - begin), prefetch, 1.0F, 0.0F);
    });
  }

 private:
  void FillWords(std::byte* stream, size_t element_bytes, uint32_t word, ThreadTeam& team) const {
    auto* const words = reinterpret_cast<uint32_t*>(stream);
    team.For((count_ * element_bytes + 3) / 4, kShare,
             [&](size_t begin, size_t end) { std::fill(words + begin, words + end, word); });
  }

  size_t count_ = 0;
  AlignedBuffer memory_;
  std::byte *master_ = nullptr, *copy_ = nullptr, *exp_avg_ = nullptr, *exp_avg_sq_ = nullptr, *grad_ = nullptr;
};

BenchRow Measure(const BenchRequest& request, Streams& streams, const Form& form, StateDtype state, Isa isa,
                 ThreadTeam& team) {
  streams.Fill(form, state, team);
  std::vector<double> plain, prefetch, step;
  for (size_t turn = 0; turn <= request.steps; ++turn) {
    const auto number = static_cast<int64_t>(turn) + 1;
    const AdamCoefficients k = MakeAdamCoefficients({.learning_rate = 1e-3}, 0.01, number, 1.0);
    const double plain_s = Seconds([&] { streams.Mix(BestIsa(), false, team); });
    const double step_s = Seconds([&] { StepTile(k, streams.Tile(form, state, number), team, isa); });
    const double prefetch_s = Seconds([&] { streams.Mix(BestIsa(), true, team); });
    if (turn == 0) continue;
    plain.push_back(plain_s);
    prefetch.push_back(prefetch_s);
    step.push_back(step_s);
  }
  constexpr double kMixBytes = 28;
  const double limit_s = std::min(Median(plain), Median(prefetch));
  const double bytes = form.bytes_per_param + MomentBytesMoved(state);
  return {.state_dtype = state,
          .param_dtype = form.param,
          .grad_dtype = form.grad,
          .isa = isa,
          .threads = request.threads,
          .ns_per_param = Median(step) / static_cast<double>(request.elements) * 1e9,
          .bytes_per_param = bytes,
          .limit_fraction = limit_s * bytes / kMixBytes / Median(step)};
}

}  // namespace

Result<std::vector<BenchRow>> BenchAdam(const BenchRequest& request) {
  TM_CHECK(request.elements > 0 && request.threads > 0 && request.steps > 0);
  ThreadTeam team(request.threads);
  TM_ASSIGN_OR_RETURN(Streams streams, Streams::Allocate(request.elements));
  std::vector<BenchRow> rows;
  for (const Isa isa : request.isas) {
    for (const StateDtype state : request.states) {
      for (const Form& form : kForms) rows.push_back(Measure(request, streams, form, state, isa, team));
    }
  }
  return rows;
}

}  // namespace tidemill::cpu_adam
