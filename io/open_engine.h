// Chooses the engine that this machine allows.
//
// auto tries io_uring, then libaio, then POSIX threads; each refusal is one line in `notes`, for the caller to show. A
// named engine that is refused is kUnavailable, and the message says "refused". Buffers that cannot be registered
// (locked-memory limit) are one line, never an error.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/engine.h"

namespace tidemill::io {

enum class EngineChoice { kAuto, kIoUring, kLibaio, kPosix };

// "auto", "io_uring", "libaio", "posix": the values of --io-engine. kInvalidArgument for anything else.
Result<EngineChoice> ParseEngineChoice(std::string_view text);
std::string_view Name(EngineChoice choice);

struct EngineOptions {
  EngineChoice choice = EngineChoice::kAuto;
  EngineLimits limits = {};
  Arenas registered = {};  // borrowed for the engine's life; requests may use other memory too
};

struct OpenedEngine {
  std::unique_ptr<Engine> engine;
  std::vector<std::string> notes;
};

Result<OpenedEngine> OpenEngine(const EngineOptions& options);

}  // namespace tidemill::io
