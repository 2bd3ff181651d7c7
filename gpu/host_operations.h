// The arithmetic of a host stream: every operation becomes a task in the stream's order (gpu/kernels/ does the work).
#pragma once

#include <memory>

#include "gpu/operations.h"

namespace tidemill::gpu {

class HostStream;

// Feeds `stream`, which must outlive it.
std::unique_ptr<Operations> MakeHostOperations(HostStream& stream);

// What any operation within `limits` needs of a stream's workspace with that many threads.
uint64_t HostWorkspaceBytes(const WorkspaceLimits& limits, size_t threads);

}  // namespace tidemill::gpu
