// One AdamW step over a tile: a flat run of elements that share their coefficients, updated in place in a single pass.
// The rule is base/adam_rule.h's; this folder adds the encodings of master and moments (state_encoding.h) and speed.
//
//   Bits        the same on every instruction set, thread count, alignment and cut into tiles. An element depends
//               on its own values, the coefficients and, where rounding is stochastic, on (seed, step, its index)
//               alone: cut such tiles at even elements. int8 moments also depend on their block: cut those tiles
//               at multiples of kMomentBlock from the page's start.
//   Ownership   a view borrows; nothing is kept after the call, nothing is allocated.
//   Threads     one call uses the whole team; calls on disjoint tiles may run at once with different teams.
//   Alignment   none needed beyond the element type's. Streams of one tile must not overlap.
//   Denormals   are kept, not flushed: a device that holds its own state applies the same rule and must agree.
//   Accuracy    one fp32 step is within 2 ulp of float64 arithmetic on the same float inputs, ulps taken of the
//               largest of a result and the terms it is the sum of. After N steps, p is within
//                 N ulp(p)  +  c * 2^-24 * sum of lr * |m^ / sqrt(v^)|,
//                 c = 1 / (1 - beta1) + 1 / (2 (1 - beta2)) + 8:
//               p is rounded twice a step, half an ulp each; a rounding of m (v) lives on for 1 / (1 - beta) steps, at
//               half weight for v under the root; the step itself rounds about eight times.
//   Errors      inputs must be finite: the caller has the norm before it steps (grad_norm.h: not finite if any gradient
//               is not) and skips the step. A false result says that some new master is not finite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "base/adam_rule.h"
#include "base/thread_team.h"
#include "cpu_adam/isa.h"
#include "cpu_adam/state_encoding.h"

namespace tidemill::cpu_adam {

// Where the master weights live. Each holds `count` elements of the tile.
struct Fp32Master {  // fp32 compute: the parameter is the master
  float* master;
};
struct SplitMasterView {  // bf16 compute copy and the master's low halves (docs/ARCHITECTURE.md, split master): both
                          // rewritten
  uint16_t* param;
  uint16_t* rest;
};
struct Fp32MasterBf16Copy {  // `copy` is only written, with the split master's rounding (nearest, ties away)
  float* master;
  uint16_t* copy;
};
struct Fp32MasterF16Copy {  // `copy` is only written: IEEE binary16, nearest even
  float* master;
  uint16_t* copy;
};
struct Bf16Master {  // bf16 is all there is; rounded stochastically
  uint16_t* param;
};
using MasterView = std::variant<Fp32Master, SplitMasterView, Fp32MasterBf16Copy, Fp32MasterF16Copy, Bf16Master>;

// Read only.
struct Fp32Grad {
  const float* grad;
};
struct Bf16Grad {
  const uint16_t* grad;
};
using GradView = std::variant<Fp32Grad, Bf16Grad>;

struct TileView {
  size_t count;
  MasterView master;
  MomentView moments;
  GradView grad;
  RoundingKey rounding = {};  // read by stochastic rounding only
};

// Returns whether every new master is finite. `isa` must be one of SupportedIsas().
bool StepTile(const AdamCoefficients& coefficients, const TileView& tile, ThreadTeam& team, Isa isa = BestIsa());

// The same on the calling thread alone.
bool StepTile(const AdamCoefficients& coefficients, const TileView& tile, Isa isa = BestIsa());

}  // namespace tidemill::cpu_adam
