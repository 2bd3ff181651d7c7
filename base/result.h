// Result<T>: a value, or an Error that says what happened and what a caller can do about it.
//
// Errors are for the world (disk full, bad checkpoint, no GPU); TM_CHECK is for our own mistakes.
// Tidemill code throws nothing; a library's exceptions are turned into an Error where the library is called.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace tidemill {

// One code per reaction, not per cause: the message carries the cause. tools/ maps each to its exit status.
enum class ErrorCode {
  kInvalidArgument,  // the user or a file asked for something impossible: fix the request (exit 2)
  kIo,               // reading or writing failed before or outside a training step (exit 1)
  kUnavailable,      // this machine refuses or lacks the feature: fall back, or stop (exit 1)
  kDoesNotFit,       // a tier or a disk is too small, known before the first step (exit 3)
  kNoSpace,          // a disk filled up during the run (exit 4)
  kStorage,          // a storage device failed during the run (exit 4)
  kCorrupt,          // the bytes are not the ones we wrote: never continue (exit 4)
  kNotFinite,        // the loss or the gradients are NaN or infinite (exit 5)
  kInterrupted,      // a signal asked the run to stop, and it has saved (exit 130 or 143)
};

// `message` is "<what> (<where>): <what to do>": lower case, no full stop.
struct Error {
  ErrorCode code;
  std::string message;
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = tl::expected<void, Error>;

inline Status Ok() { return {}; }
inline tl::unexpected<Error> Fail(ErrorCode code, std::string message) {
  return tl::make_unexpected(Error{code, std::move(message)});
}

}  // namespace tidemill

// The only two control-flow macros in the project.
#define TM_RETURN_IF_ERROR(expr) \
  if (auto tm_status = (expr); !tm_status.has_value()) return tl::make_unexpected(std::move(tm_status.error()))
#define TM_CONCAT_(a, b) a##b
#define TM_CONCAT(a, b) TM_CONCAT_(a, b)
#define TM_ASSIGN_OR_RETURN(lhs, expr) TM_ASSIGN_OR_RETURN_(TM_CONCAT(tm_result_, __LINE__), lhs, expr)
#define TM_ASSIGN_OR_RETURN_(tmp, lhs, expr)                                \
  auto tmp = (expr);                                                        \
  if (!tmp.has_value()) return tl::make_unexpected(std::move(tmp.error())); \
  lhs = std::move(*tmp)
