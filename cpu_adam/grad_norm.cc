#include "cpu_adam/grad_norm.h"

#include <algorithm>
#include <array>

#include "cpu_adam/kernel_table.h"
#include "cpu_adam/slice.h"

namespace tidemill::cpu_adam {
namespace {

// Chunk sums are kept on the stack until they are added in order: 16 Mi elements at a time.
constexpr size_t kChunksPerRound = 4096;

template <typename ForRange>
double SumInOrder(const GradView& view, size_t count, Isa isa, const ForRange& for_range) {
  const SumFn sum = KernelsOf(isa).sum;
  const GradData grad = DataOf(view);
  std::array<double, kChunksPerRound> sums;
  double total = 0;
  for (size_t first = 0; first < count; first += kChunksPerRound * kSumChunk) {
    const size_t size = std::min(count - first, kChunksPerRound * kSumChunk);
    for_range(size, [&](size_t begin, size_t end) {
      const auto* const data = static_cast<const char*>(grad.data) + (first + begin) * GradElementBytes(grad.form);
      sum(grad.form, data, end - begin, sums.data() + begin / kSumChunk);
    });
    const size_t chunks = (size + kSumChunk - 1) / kSumChunk;
    for (size_t c = 0; c < chunks; ++c) total += sums[c];
  }
  return total;
}

}  // namespace

double SumOfSquares(const GradView& grad, size_t count, ThreadTeam& team, Isa isa) {
  return SumInOrder(grad, count, isa, [&team](size_t size, const auto& body) { team.For(size, kSumChunk, body); });
}

double SumOfSquares(const GradView& grad, size_t count, Isa isa) {
  return SumInOrder(grad, count, isa, [](size_t size, const auto& body) { body(size_t{0}, size); });
}

}  // namespace tidemill::cpu_adam
