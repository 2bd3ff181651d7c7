// --device as numbers: "auto", "cpu", "cuda", "cuda:1", or a CPU that behaves like a device with its own memory and
// links: "host:mem=2GiB,pcie=2GB/s,flops=50e9,nvme-read=500MB/s,nvme-write=400MB/s".
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace tidemill::train {

struct DeviceSpec {
  enum class Kind : uint8_t { kAuto, kHost, kCuda };
  Kind kind = Kind::kAuto;
  int index = 0;              // of the CUDA device
  uint64_t memory_bytes = 0;  // the size of the host's device memory; 0: no size of its own
  // Throttles of the host device; 0: none.
  double pcie_bytes_per_s = 0, flops = 0, nvme_read_bytes_per_s = 0, nvme_write_bytes_per_s = 0;
};

// Errors name --device and the part that is not understood.
Result<DeviceSpec> ParseDeviceSpec(std::string_view text);

}  // namespace tidemill::train
