#include "gpu/kernels/row_kernels.h"

namespace tidemill::gpu {
namespace baseline {
extern const RowKernels kRowKernels;
}
namespace avx2 {
extern const RowKernels kRowKernels;
}
namespace avx512 {
extern const RowKernels kRowKernels;
}

const RowKernels& RowKernelsOf(Isa isa) {
  return PickIsa(isa, baseline::kRowKernels, avx2::kRowKernels, avx512::kRowKernels);
}

}  // namespace tidemill::gpu
