// From an error to the status that the process ends with. The only place that knows these numbers.
#pragma once

#include "base/result.h"

namespace tidemill::tools {

inline constexpr int kExitUsage = 2;

// `stop_signal` is the signal that asked the run to stop, for kInterrupted; 0 counts as SIGINT.
constexpr int ExitCode(ErrorCode code, int stop_signal) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return kExitUsage;
    case ErrorCode::kIo:
    case ErrorCode::kUnavailable:
      return 1;
    case ErrorCode::kDoesNotFit:
      return 3;
    case ErrorCode::kNoSpace:
    case ErrorCode::kStorage:
    case ErrorCode::kCorrupt:
      return 4;
    case ErrorCode::kNotFinite:
      return 5;
    case ErrorCode::kInterrupted:
      return 128 + (stop_signal == 0 ? 2 : stop_signal);
  }
  return 1;
}

}  // namespace tidemill::tools
