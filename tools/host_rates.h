// The rates of this machine beside its drives, for `tune`: memory, Adam, the device's products.
#pragma once

#include "base/result.h"
#include "io/bench_file.h"
#include "tools/tune_report.h"

namespace tidemill::tools {

// `quick`: smaller arrays, fewer repetitions. What this machine's memory has no room for is left out, and said on
// stderr. kInterrupted: `stop` said so, asked between measurements of a few seconds.
Result<HostRates> MeasureHost(bool quick, const io::StopQuestion& stop);

}  // namespace tidemill::tools
