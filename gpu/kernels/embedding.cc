#include "gpu/kernels/embedding.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace tidemill::gpu {
namespace {

constexpr size_t kGrain = 16;  // columns: a cache line, so that threads do not write into each other's

void CopyRow(const Weights& table, int64_t row, float* to) {
  const auto cols = static_cast<size_t>(table.cols);
  const std::byte* const from = table.data + static_cast<size_t>(row) * cols * SizeOf(table.dtype);
  if (table.dtype == DType::kF32) {
    std::memcpy(to, from, cols * sizeof(float));
    return;
  }
  const auto* const halves = reinterpret_cast<const uint16_t*>(from);
  for (size_t c = 0; c < cols; ++c) to[c] = Bf16ToFloat(halves[c]);
}

}  // namespace

void EmbedForward(ThreadTeam& team, const Weights& table, int32_t first_id, const int32_t* ids, float* x,
                  int64_t rows) {
  TM_CHECK(table.dtype == DType::kF32 || table.dtype == DType::kBf16);
  team.For(static_cast<size_t>(rows), 1, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) {
      const int64_t row = int64_t{ids[r]} - first_id;
      if (row >= 0 && row < table.rows) CopyRow(table, row, x + r * static_cast<size_t>(table.cols));
    }
  });
}

void EmbedBackward(ThreadTeam& team, const float* dx, const int32_t* ids, int32_t first_id, int64_t table_rows,
                   int64_t cols, Fold dtable, int64_t rows) {
  if (dtable.data == nullptr) return;
  if (!dtable.accumulate) {
    team.For(static_cast<size_t>(table_rows * cols), 4096,
             [&](size_t begin, size_t end) { std::fill(dtable.data + begin, dtable.data + end, 0.0F); });
  }
  team.For(static_cast<size_t>(cols), kGrain, [&](size_t begin, size_t end) {
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t row = int64_t{ids[r]} - first_id;
      if (row < 0 || row >= table_rows) continue;
      float* const to = dtable.data + row * cols;
      const float* const from = dx + r * cols;
      for (size_t c = begin; c < end; ++c) to[c] += from[c];
    }
  });
}

}  // namespace tidemill::gpu
