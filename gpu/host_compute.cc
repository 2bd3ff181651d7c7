#include "gpu/host_compute.h"

#include <cstring>

namespace tidemill::gpu {
namespace {

constexpr size_t kWorthATeam = size_t{1} << 20;  // bytes; below, waking the team costs more than it saves
constexpr size_t kGrain = 4096;

}  // namespace

template <typename Part>
void HostCompute::Split(size_t bytes, const Part& part) {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (bytes < kWorthATeam || !lock.try_lock()) return part(0, bytes);
  team_.For(bytes, kGrain, part);
}

void HostCompute::Copy(std::byte* to, const std::byte* from, size_t bytes) {
  Split(bytes, [&](size_t begin, size_t end) { std::memcpy(to + begin, from + begin, end - begin); });
}

void HostCompute::FillZero(std::byte* to, size_t bytes) {
  Split(bytes, [&](size_t begin, size_t end) { std::memset(to + begin, 0, end - begin); });
}

}  // namespace tidemill::gpu
