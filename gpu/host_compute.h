// What the host device computes with: one team of threads, the kernels of the best instruction set, and the throttles.
//
//   Threads     operations of several streams may meet here; they take turns at the team.
#pragma once

#include <cstddef>
#include <mutex>
#include <span>

#include "base/thread_team.h"
#include "gpu/device_spec.h"
#include "gpu/kernels/row_kernels.h"
#include "gpu/throttle.h"

namespace tidemill::gpu {

class HostCompute {
 public:
  HostCompute(const DeviceSpec& spec, size_t threads)
      : isa_(CpuIsa()),
        kernels_(RowKernelsOf(isa_)),
        team_(threads),
        upload_(spec.pcie_bytes_per_s),
        download_(spec.pcie_bytes_per_s),
        arithmetic_(spec.flops_per_s) {}

  Isa isa() const { return isa_; }
  const RowKernels& kernels() const { return kernels_; }
  ThreadTeam& team() { return team_; }  // inside Run() only
  size_t threads() const { return team_.size(); }
  Throttle& upload() { return upload_; }
  Throttle& download() { return download_; }

  // Does work(), which may use the team, in no less time than `flops` take at the device's rate.
  template <typename Work>
  void Run(double flops, const Work& work) {
    const std::scoped_lock lock(mutex_);
    arithmetic_.Run(flops, work);
  }

  // Moves and clears device memory, with the team's help where it is free and the size is worth it.
  void Copy(std::byte* to, const std::byte* from, size_t bytes);
  void FillZero(std::byte* to, size_t bytes);

 private:
  template <typename Part>
  void Split(size_t bytes, const Part& part);

  const Isa isa_;
  const RowKernels& kernels_;
  std::mutex mutex_;  // of the team
  ThreadTeam team_;
  Throttle upload_, download_, arithmetic_;
};

}  // namespace tidemill::gpu
