#include "offload/moment_codec.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <variant>

#include "base/check.h"

namespace tidemill::offload {
namespace {

using cpu_adam::MomentView;
using cpu_adam::StateDtype;

// cpu_adam converts both moments at once. The other one passes through a scratch of this many elements.
constexpr size_t kChunk = 16 * cpu_adam::kMomentBlock;

// Where the codes of the moment that nobody wants go.
struct Unwanted {
  alignas(float) std::array<uint8_t, kChunk * sizeof(float)> codes{};
  std::array<uint8_t, kChunk / cpu_adam::kMomentBlock> scales{};
};

struct Divert {
  Moment wanted;
  Unwanted& unwanted;

  void operator()(cpu_adam::Fp32Moments& view) const { Codes(view); }
  void operator()(cpu_adam::Bf16Moments& view) const { Codes(view); }
  void operator()(cpu_adam::Int8Moments& view) const {
    Codes(view);
    (wanted == Moment::kExpAvg ? view.exp_avg_sq_scale : view.exp_avg_scale) = unwanted.scales.data();
  }

  template <typename View>
  void Codes(View& view) const {
    auto*& pointer = wanted == Moment::kExpAvg ? view.exp_avg_sq : view.exp_avg;
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(unwanted.codes.data());
  }
};

// Calls visit(first, count) over chunks.
template <typename Visit>
void ForEachChunk(size_t count, const Visit& visit) {
  for (size_t first = 0; first < count; first += kChunk) visit(first, std::min(kChunk, count - first));
}

}  // namespace

void DecodeMoment(StateDtype dtype, Moment moment, std::span<std::byte> page, std::span<float> values) {
  TM_CHECK(page.size() >= cpu_adam::MomentBytes(dtype, values.size()));
  if (dtype == StateDtype::kFp32) {
    std::memcpy(values.data(), page.data(), values.size_bytes());
    return;
  }
  std::array<float, kChunk> other{};
  Unwanted unwanted;
  ForEachChunk(values.size(), [&](size_t first, size_t count) {
    MomentView view = cpu_adam::PageMoments(dtype, page.data(), page.data(), values.size(), first);
    std::visit(Divert{moment, unwanted}, view);
    const std::span<float> wanted = values.subspan(first, count), rest = std::span(other).first(count);
    const bool is_first = moment == Moment::kExpAvg;
    cpu_adam::DecodeMoments(view, is_first ? wanted : rest, is_first ? rest : wanted);
  });
}

void EncodeMoment(StateDtype dtype, Moment moment, std::span<const float> values, uint64_t first_element,
                  std::span<std::byte> page) {
  TM_CHECK(page.size() >= cpu_adam::MomentBytes(dtype, values.size()));
  if (dtype == StateDtype::kFp32) {
    std::memcpy(page.data(), values.data(), values.size_bytes());
    return;
  }
  const std::array<float, kChunk> zeros{};
  Unwanted unwanted;
  ForEachChunk(values.size(), [&](size_t first, size_t count) {
    MomentView view = cpu_adam::PageMoments(dtype, page.data(), page.data(), values.size(), first);
    std::visit(Divert{moment, unwanted}, view);
    const std::span<const float> wanted = values.subspan(first, count), rest = std::span(zeros).first(count);
    // No applied step has number 0: its draws are those of encoding alone.
    const cpu_adam::RoundingKey key{0, 0, first_element + first};
    const bool is_first = moment == Moment::kExpAvg;
    cpu_adam::EncodeMoments(is_first ? wanted : rest, is_first ? rest : wanted, key, view);
  });
}

}  // namespace tidemill::offload
