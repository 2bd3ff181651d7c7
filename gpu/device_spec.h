// Which device a run uses, from the text of --device:
//
//   auto, cpu                       the host, all its memory, no throttle
//   host:key=value,...              the host, behaving like a smaller machine; any of
//     mem=2GiB                      the device's memory
//     pcie=2GB/s                    copies between host and device, each direction
//     flops=50e9                    matrix products and attention, operations per second
//     nvme-read=, nvme-write=       the storage (applied by offload, not by the device)
//   cuda, cuda:N                    refused by name where the build or the machine has none
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace tidemill::gpu {

// A rate of 0 is "as fast as it goes".
struct DeviceSpec {
  uint64_t memory_bytes = 0;  // 0: only the process's own limits apply
  double pcie_bytes_per_s = 0;
  double flops_per_s = 0;
  double nvme_read_bytes_per_s = 0;
  double nvme_write_bytes_per_s = 0;
};

// kInvalidArgument names the key that is wrong, or the device that this build does not have.
Result<DeviceSpec> ParseDeviceSpec(std::string_view text);

}  // namespace tidemill::gpu
