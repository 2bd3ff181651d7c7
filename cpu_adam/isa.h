// The instruction sets that cpu_adam has kernels for. Every one gives the same bits, so the choice is only about speed.
//
//   scalar   plain C++: the witness that the others are compared with, and what any CPU can run
//   avx2     needs AVX2, FMA and F16C (Haswell, Zen 1 and later)
//   avx512   needs AVX-512F and BW (Skylake-X, Zen 4 and later)
//
// No NEON: it would compile untested, as there is no such machine to measure on and CI has no emulator of one; other
// CPUs run scalar.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"

namespace tidemill::cpu_adam {

enum class Isa : uint8_t { kScalar, kAvx2, kAvx512 };

std::string_view IsaName(Isa isa);
// What this CPU and its operating system can run: best first, never empty, the last is kScalar.
std::span<const Isa> SupportedIsas();
inline Isa BestIsa() { return SupportedIsas().front(); }

// kInvalidArgument for a name that is not in the table above, kUnavailable for one that this CPU cannot run.
Result<Isa> IsaFromName(std::string_view name);

}  // namespace tidemill::cpu_adam
