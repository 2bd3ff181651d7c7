// How fast a file's drive is, roughly and soon: for dividing bytes among directories, not for publishing. `tune` and
// `bench io` (io/bench.h) measure properly.
//
//   Threads   any, on files of their own.
//   Limits    the first 64 MiB of the file, or what half a second takes of them, in each direction; then it is over.
#pragma once

#include "base/result.h"
#include "io/block_file.h"
#include "io/open_engine.h"

namespace tidemill::io {

struct StorageSpeed {
  double read_bytes_per_s = 0, write_bytes_per_s = 0;  // 0: not known
};

inline constexpr uint64_t kSpeedBytesMax = uint64_t{64} << 20;

// Writes the file from its beginning, flushes, and reads what it wrote, through the kind of engine that will use it.
// What the file held is lost. The file has at least one block. Errors are the transfers'; kUnavailable: a named engine
// is refused, or no memory.
Result<StorageSpeed> MeasureSpeed(const BlockFile& file, EngineChoice engine);

}  // namespace tidemill::io
