#include "cpu_adam/kernel_table.h"

#include <algorithm>
#include <array>

namespace tidemill::cpu_adam {
namespace {

#if defined(__x86_64__)
constexpr std::array<const Kernels*, 3> kKernels{&kScalarKernels, &kAvx2Kernels, &kAvx512Kernels};
#else
constexpr std::array<const Kernels*, 1> kKernels{&kScalarKernels};
#endif

}  // namespace

const Kernels& KernelsOf(Isa isa) {
  const auto supported = SupportedIsas();
  TM_CHECK(std::find(supported.begin(), supported.end(), isa) != supported.end());
  return *kKernels[static_cast<size_t>(isa)];
}

GradData DataOf(const GradView& grad) {
  if (const auto* fp32 = std::get_if<Fp32Grad>(&grad)) return {GradForm::kFp32, fp32->grad};
  return {GradForm::kBf16, std::get<Bf16Grad>(grad).grad};
}

}  // namespace tidemill::cpu_adam
