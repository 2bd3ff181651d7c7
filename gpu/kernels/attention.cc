#include "gpu/kernels/attention.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/check.h"
#include "gpu/kernels/attention_block.h"
#include "gpu/kernels/isa.h"

namespace tidemill::gpu {
namespace baseline {
extern const AttentionForwardKernels kAttentionForward;
extern const AttentionBackwardKernels kAttentionBackward;
}  // namespace baseline
namespace avx2 {
extern const AttentionForwardKernels kAttentionForward;
extern const AttentionBackwardKernels kAttentionBackward;
}  // namespace avx2
namespace avx512 {
extern const AttentionForwardKernels kAttentionForward;
extern const AttentionBackwardKernels kAttentionBackward;
}  // namespace avx512

namespace {

using Turn = std::atomic<uint32_t>;

int64_t Blocks(int64_t rows, int64_t block) { return (rows + block - 1) / block; }

uint64_t ScratchBytes(const AttentionShape& shape) {
  return (static_cast<uint64_t>(AttentionScratchFloats(shape.head_dim)) * sizeof(float) + 63) / 64 * 64;
}

uint64_t TurnBytes(const AttentionShape& shape, int64_t rows, int64_t sequences) {
  const int64_t turns = (Blocks(rows, kKeyBlock) + sequences) * shape.kv_heads;
  return (static_cast<uint64_t>(turns) * sizeof(Turn) + 63) / 64 * 64;
}

// One block of queries of one head, and where it stands.
struct Unit {
  int64_t sequence = 0, head = 0, query_block = 0;
  int64_t first_turn = 0;  // of the sequence's counters, kv_heads * key blocks of them
};

// Units in a fixed order: by sequence, head, query block. Find() is called with growing tickets.
class Units {
 public:
  Units(const AttentionShape& shape, const SequenceView& view) : shape_(shape), view_(view) {}

  bool Find(int64_t ticket, Unit& unit) {
    for (; unit.sequence < view_.sequences; ++unit.sequence) {
      const int64_t blocks = Blocks(Length(view_.query_offsets, unit.sequence), kQueryBlock);
      if (ticket - begin_ < blocks * shape_.heads) {
        unit.head = (ticket - begin_) / blocks;
        unit.query_block = (ticket - begin_) % blocks;
        return true;
      }
      begin_ += blocks * shape_.heads;
      unit.first_turn += Blocks(Length(view_.key_offsets, unit.sequence), kKeyBlock) * shape_.kv_heads;
    }
    return false;
  }

  static int64_t Length(const int32_t* offsets, int64_t sequence) { return offsets[sequence + 1] - offsets[sequence]; }

 private:
  const AttentionShape& shape_;
  const SequenceView& view_;
  int64_t begin_ = 0;  // first ticket of the sequence at hand
};

struct Operands {
  const AttentionShape& shape;
  const SequenceView& view;
  const float *q, *k, *v;

  int64_t q_stride() const { return int64_t{shape.heads} * shape.head_dim; }
  int64_t kv_stride() const { return int64_t{shape.kv_heads} * shape.head_dim; }
  int64_t kv_head(const Unit& unit) const { return unit.head / (shape.heads / shape.kv_heads); }
  int64_t query_row(const Unit& unit) const {
    return view.query_offsets[unit.sequence] + unit.query_block * kQueryBlock;
  }
  int64_t q_offset(const Unit& unit) const { return query_row(unit) * q_stride() + unit.head * shape.head_dim; }
  int64_t kv_offset(const Unit& unit) const {
    return view.key_offsets[unit.sequence] * kv_stride() + kv_head(unit) * shape.head_dim;
  }

  AttentionBlock Block(const Unit& unit) const {
    const int64_t queries = Units::Length(view.query_offsets, unit.sequence);
    const int64_t keys = Units::Length(view.key_offsets, unit.sequence);
    const int64_t first = unit.query_block * kQueryBlock;
    TM_CHECK(queries <= keys);
    return {.q = q + q_offset(unit),
            .k = k + kv_offset(unit),
            .v = v + kv_offset(unit),
            .q_stride = q_stride(),
            .kv_stride = kv_stride(),
            .queries = std::min(kQueryBlock, queries - first),
            .last_key = keys - queries + first,
            .window = shape.window,
            .head_dim = shape.head_dim,
            .scale = shape.scale};
  }
};

// Waits until the counter shows `turn`. Units are taken in order, so the ones before are done or on some thread.
void Await(const Turn& counter, uint32_t turn) {
  for (int spins = 0; counter.load(std::memory_order_acquire) != turn; ++spins) {
    if (spins > 200) std::this_thread::yield();
  }
}

// How many units of its kv head add to `key_block` before this one: those of earlier heads and query blocks.
uint32_t TurnOf(const Operands& operands, const Unit& unit, int64_t key_block) {
  const int64_t rows = Units::Length(operands.view.query_offsets, unit.sequence), window = operands.shape.window;
  const int64_t first = key_block * kKeyBlock / kQueryBlock;
  int64_t last = Blocks(rows, kQueryBlock) - 1;
  if (window > 0) last = std::min(last, ((key_block + 1) * kKeyBlock + window - 2) / kQueryBlock);
  const int64_t earlier_heads = unit.head % (operands.shape.heads / operands.shape.kv_heads);
  return static_cast<uint32_t>(earlier_heads * (last - first + 1) + unit.query_block - first);
}

void BackwardUnit(const AttentionBackwardKernels& kernels, const Operands& operands, const Unit& unit,
                  const AttentionGradients& whole, Turn* turns, float* scratch) {
  const AttentionBlock block = operands.Block(unit);
  const int64_t heads = operands.shape.heads, q_offset = operands.q_offset(unit), kv_offset = operands.kv_offset(unit);
  const AttentionGradients grads = {.o = whole.o + q_offset,
                                    .d_o = whole.d_o + q_offset,
                                    .lse = whole.lse + operands.query_row(unit) * heads + unit.head,
                                    .dq = whole.dq + q_offset,
                                    .dk = whole.dk + kv_offset,
                                    .dv = whole.dv + kv_offset,
                                    .lse_stride = heads};
  const int64_t key_blocks = Blocks(Units::Length(operands.view.key_offsets, unit.sequence), kKeyBlock);
  Turn* const counters = turns + unit.first_turn + operands.kv_head(unit) * key_blocks;
  kernels.begin(block, grads, scratch);
  for (int64_t kb = block.first_key_block(); kb <= block.last_key_block(); ++kb) {
    const uint32_t turn = TurnOf(operands, unit, kb);
    kernels.scores(block, kb, scratch);
    Await(counters[kb], turn);
    kernels.add_to_keys(block, grads, kb, scratch);
    counters[kb].store(turn + 1, std::memory_order_release);
  }
  kernels.end(block, grads, scratch);
}

void Check(const AttentionShape& shape, const SequenceView& view) {
  TM_CHECK(shape.head_dim > 0 && shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0 && shape.window >= 0);
  TM_CHECK(view.sequences > 0 && view.query_offsets != nullptr && view.key_offsets != nullptr);
}

}  // namespace

uint64_t AttentionWorkspaceBytes(const AttentionShape& shape, int64_t rows, int64_t sequences, size_t threads) {
  return TurnBytes(shape, rows, sequences) + threads * ScratchBytes(shape);
}

void AttentionForward(Isa isa, ThreadTeam& team, std::span<std::byte> workspace, const AttentionShape& shape,
                      const SequenceView& sequences, const float* q, const float* k, const float* v, float* o,
                      float* lse) {
  Check(shape, sequences);
  TM_CHECK(workspace.size() >= team.size() * ScratchBytes(shape));
  const auto& kernels = PickIsa(isa, baseline::kAttentionForward, avx2::kAttentionForward, avx512::kAttentionForward);
  const Operands operands{shape, sequences, q, k, v};
  std::atomic<int64_t> next = 0;
  team.Run([&](size_t member) {
    auto* const scratch = reinterpret_cast<float*>(workspace.data() + member * ScratchBytes(shape));
    Units units(shape, sequences);
    for (Unit unit; units.Find(next.fetch_add(1, std::memory_order_relaxed), unit);) {
      kernels.forward(operands.Block(unit), o + operands.q_offset(unit),
                      lse + operands.query_row(unit) * shape.heads + unit.head, shape.heads, scratch);
    }
  });
}

void AttentionBackward(Isa isa, ThreadTeam& team, std::span<std::byte> workspace, const AttentionShape& shape,
                       const SequenceView& sequences, const float* q, const float* k, const float* v, const float* o,
                       const float* lse, const float* d_o, float* dq, float* dk, float* dv) {
  Check(shape, sequences);
  const int64_t rows = sequences.key_offsets[sequences.sequences];
  const uint64_t turn_bytes = TurnBytes(shape, rows, sequences.sequences);
  TM_CHECK(workspace.size() >= turn_bytes + team.size() * ScratchBytes(shape));
  TM_CHECK(rows == sequences.query_offsets[sequences.sequences]);
  const auto& kernels =
      PickIsa(isa, baseline::kAttentionBackward, avx2::kAttentionBackward, avx512::kAttentionBackward);
  const Operands operands{shape, sequences, q, k, v};
  auto* const turns = reinterpret_cast<Turn*>(workspace.data());
  for (uint64_t i = 0; i < turn_bytes / sizeof(Turn); ++i) new (turns + i) Turn(0);
  team.For(static_cast<size_t>(rows * operands.kv_stride()), 4096, [&](size_t begin, size_t end) {
    std::fill(dk + begin, dk + end, 0.0F);
    std::fill(dv + begin, dv + end, 0.0F);
  });
  const AttentionGradients whole{.o = o, .d_o = d_o, .lse = lse, .dq = dq, .dk = dk, .dv = dv, .lse_stride = 0};
  std::atomic<int64_t> next = 0;
  team.Run([&](size_t member) {
    auto* const scratch = reinterpret_cast<float*>(workspace.data() + turn_bytes + member * ScratchBytes(shape));
    Units units(shape, sequences);
    for (Unit unit; units.Find(next.fetch_add(1, std::memory_order_relaxed), unit);) {
      BackwardUnit(kernels, operands, unit, whole, turns, scratch);
    }
  });
}

}  // namespace tidemill::gpu
