#include "cpu_adam/isa.h"

#include <array>
#include <string>
#include <vector>

namespace tidemill::cpu_adam {
namespace {

constexpr std::array<std::string_view, 3> kNames{"scalar", "avx2", "avx512"};

std::vector<Isa> FindSupported() {
  std::vector<Isa> found;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) found.push_back(Isa::kAvx512);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
    found.push_back(Isa::kAvx2);
#endif
  found.push_back(Isa::kScalar);
  return found;
}

}  // namespace

std::string_view IsaName(Isa isa) { return kNames[static_cast<size_t>(isa)]; }

std::span<const Isa> SupportedIsas() {
  static const std::vector<Isa> supported = FindSupported();
  return supported;
}

Result<Isa> IsaFromName(std::string_view name) {
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
    if (IsaName(isa) != name) continue;
    for (const Isa supported : SupportedIsas()) {
      if (supported == isa) return isa;
    }
    return Fail(ErrorCode::kUnavailable,
                "this CPU cannot run " + std::string(name) + " (--isa): use " + std::string(IsaName(BestIsa())));
  }
  return Fail(ErrorCode::kInvalidArgument,
              "instruction set '" + std::string(name) + "' is not known (--isa): use scalar, avx2 or avx512");
}

}  // namespace tidemill::cpu_adam
