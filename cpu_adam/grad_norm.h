// The square of a gradient's norm, summed in one fixed order, so that the clipping factor does not depend on where the
// gradient lies, on the instruction set or on the number of threads. A device that sums its own pages keeps this order:
//
//   page     chunks of 4096 elements from the page's start (the last may be short); their sums are added to 0 in order
//   chunk    16 lanes: element i goes to lane i mod 16, in order: lane = lane + double(g) * double(g)
//   lanes    lane[l] += lane[l + 8] for l < 8, then 4, 2, 1; lane[0] is the chunk's sum
//
// All in double. A square of floats is exact in double, so fused or not makes no difference. The model's sum is the
// pages' sums added in page order, by the caller; the norm is its square root. No scale is applied: gradients are taken
// as they are stored.
//
//   Errors      the sum is finite exactly if every gradient is: no square of finite floats overflows, nor do 2^60.
//   Threads     the whole team works; nothing is allocated.
#pragma once

#include "base/thread_team.h"
#include "cpu_adam/adam.h"
#include "cpu_adam/isa.h"

namespace tidemill::cpu_adam {

double SumOfSquares(const GradView& grad, size_t count, ThreadTeam& team, Isa isa = BestIsa());
// The same on the calling thread alone.
double SumOfSquares(const GradView& grad, size_t count, Isa isa = BestIsa());

}  // namespace tidemill::cpu_adam
