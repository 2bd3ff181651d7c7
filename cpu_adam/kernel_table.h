// Internal: the kernels of an instruction set, and a view turned into a slice.
#pragma once

#include "base/check.h"
#include "cpu_adam/adam.h"
#include "cpu_adam/kernel.h"

namespace tidemill::cpu_adam {

// `isa` must be supported by this CPU.
const Kernels& KernelsOf(Isa isa);

// The gradient's form and address.
struct GradData {
  GradForm form;
  const void* data;
};
GradData DataOf(const GradView& grad);

}  // namespace tidemill::cpu_adam
