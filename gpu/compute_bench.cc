#include "gpu/compute_bench.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/byte_size.h"
#include "base/check.h"
#include "base/thread_team.h"
#include "gpu/kernels/row_kernels.h"

namespace tidemill::gpu {
namespace {

constexpr std::array<std::string_view, 3> kOperations{"forward", "backward_input", "backward_weights"};
constexpr uint64_t kAlignment = 4096;

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The operands of the largest shape, one behind the other in the arena.
struct Operands {
  std::byte *x, *dy, *w, *dw, *workspace;
};

Result<Operands> Place(Device& device, std::span<const ProductShape> shapes, DType weights, uint64_t& workspace_bytes) {
  uint64_t x = 0, dy = 0, w = 0;
  WorkspaceLimits limits;
  limits.weight_dtype = weights;
  for (const ProductShape& s : shapes) {
    x = std::max(x, AlignUp(static_cast<uint64_t>(s.rows * s.in) * 4, kAlignment));
    dy = std::max(dy, AlignUp(static_cast<uint64_t>(s.rows * s.out) * 4, kAlignment));
    w = std::max(w, AlignUp(static_cast<uint64_t>(s.in * s.out) * 4, kAlignment));
    limits.rows = std::max(limits.rows, s.rows);
    limits.weight_rows = std::max(limits.weight_rows, s.out);
    limits.weight_cols = std::max(limits.weight_cols, s.in);
    limits.weight_elements = std::max(limits.weight_elements, s.in * s.out);
  }
  workspace_bytes = device.WorkspaceBytes(limits);
  TM_RETURN_IF_ERROR(device.ReserveArena(x + dy + w + w + workspace_bytes));
  std::byte* const at = device.Arena();
  return Operands{at, at + x, at + x + dy, at + x + dy + w, at + x + dy + w + w};
}

void Run(Stream& stream, size_t operation, const Operands& at, const ProductShape& s, DType weights) {
  auto* const x = reinterpret_cast<float*>(at.x);
  auto* const dy = reinterpret_cast<float*>(at.dy);
  const Weights w{at.w, weights, s.out, s.in};
  if (operation == 0) stream.operations().LinearForward(x, w, {}, dy, s.rows, false);
  if (operation == 1) stream.operations().LinearBackwardInput(dy, w, x, s.rows, false);
  if (operation == 2)
    stream.operations().LinearBackwardWeights(x, dy, s.in, s.out, {reinterpret_cast<float*>(at.dw), true}, {}, s.rows);
}

}  // namespace

Result<std::vector<ProductRate>> MeasureProducts(Device& device, std::span<const ProductShape> shapes, DType weights,
                                                 int repeats) {
  TM_CHECK(repeats >= 1);
  uint64_t workspace_bytes = 0;
  TM_ASSIGN_OR_RETURN(const Operands at, Place(device, shapes, weights, workspace_bytes));
  const auto stream = device.NewStream("bench", {at.workspace, workspace_bytes});
  stream->FillZero(device.Arena(), static_cast<size_t>(at.workspace - device.Arena()));
  std::vector<std::vector<double>> seconds(shapes.size() * kOperations.size());
  for (int repeat = -1; repeat < repeats; ++repeat) {
    for (size_t i = 0; i < seconds.size(); ++i) {
      TM_RETURN_IF_ERROR(stream->Synchronize());
      const auto start = std::chrono::steady_clock::now();
      Run(*stream, i % kOperations.size(), at, shapes[i / kOperations.size()], weights);
      TM_RETURN_IF_ERROR(stream->Synchronize());
      if (repeat >= 0) seconds[i].push_back(SecondsSince(start));
    }
  }
  std::vector<ProductRate> rates;
  for (size_t i = 0; i < seconds.size(); ++i) {
    const ProductShape& s = shapes[i / kOperations.size()];
    const double flops = 2.0 * static_cast<double>(s.rows) * static_cast<double>(s.in) * static_cast<double>(s.out);
    const double median = Median(seconds[i]);
    rates.push_back({kOperations[i % kOperations.size()], s, median, flops / median});
  }
  return rates;
}

double HostPeakFlopsPerS(size_t threads) {
  constexpr int kRepeats = 9;
  constexpr int64_t kRounds = 1 << 18;  // some milliseconds
  ThreadTeam team(threads);
  const RowKernels& kernels = RowKernelsOf(CpuIsa());
  std::vector<double> seconds, flops(threads);
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    team.Run([&](size_t member) { flops[member] = kernels.spend_flops(kRounds); });
    seconds.push_back(SecondsSince(start));
  }
  double sum = 0;
  for (const double share : flops) sum += share;
  return sum / *std::min_element(seconds.begin(), seconds.end());
}

}  // namespace tidemill::gpu
