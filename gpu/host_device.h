// The processor as a device: the real backend of machines without a GPU, and the one that shows ordering bugs.
//
//   Memory      the arena is ordinary memory apart from the host tier's, mapped as it is touched.
//   Throttles   as the spec says (gpu/device_spec.h); they sleep, they do not spin.
//   Threads     `threads` compute, one more per stream. Streams that compute take turns.
#pragma once

#include <memory>

#include "gpu/device.h"
#include "gpu/device_spec.h"

namespace tidemill::gpu {

// `threads` 0: as many as the cores that this process may use.
Result<std::unique_ptr<Device>> MakeHostDevice(const DeviceSpec& spec, size_t threads);

}  // namespace tidemill::gpu
