// `bench adam --check`: whether the kernels of this build are right on this CPU. A user can run it where no test suite
// is.
//
// For every instruction set asked for, master form, state encoding and gradient type, at lengths 1..130, 1023..1025 and
// 4097, from a misaligned start, with 1 and 7 threads: the bytes equal the scalar kernel's, nothing outside the tile is
// written, and for fp32 and the split master with fp32 state the result is within 2 ulp of float64 arithmetic (adam.h).
//
//   Errors      kUnavailable names the first combination that fails.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "cpu_adam/isa.h"

namespace tidemill::cpu_adam {

// Returns the number of tiles that were stepped and compared.
Result<size_t> CheckKernels(std::span<const Isa> isas);

}  // namespace tidemill::cpu_adam
