#include "io/open_engine.h"

#include <utility>

namespace tidemill::io {

Result<EngineChoice> ParseEngineChoice(std::string_view text) {
  if (text == "auto") return EngineChoice::kAuto;
  if (text == "io_uring") return EngineChoice::kIoUring;
  if (text == "libaio") return EngineChoice::kLibaio;
  if (text == "posix") return EngineChoice::kPosix;
  return Fail(ErrorCode::kInvalidArgument,
              "unknown I/O engine '" + std::string(text) + "': choose auto, io_uring, libaio or posix");
}

Result<OpenedEngine> OpenEngine(const EngineOptions& options) {
  const size_t depth = options.limits.depth;
  const bool any = options.choice == EngineChoice::kAuto;
  OpenedEngine opened;
  const auto with = [&](std::unique_ptr<Transport> transport) {
    opened.engine = std::make_unique<Engine>(std::move(transport), options.limits);
    return std::move(opened);
  };
  if (any || options.choice == EngineChoice::kIoUring) {
    auto transport = OpenUringTransport(depth, options.registered, opened.notes);
    if (transport) return with(std::move(*transport));
    if (!any) return tl::make_unexpected(std::move(transport.error()));
    opened.notes.push_back(transport.error().message + "; using libaio");
  }
  if (any || options.choice == EngineChoice::kLibaio) {
    auto transport = OpenAioTransport(depth);
    if (transport) return with(std::move(*transport));
    if (!any) return tl::make_unexpected(std::move(transport.error()));
    opened.notes.push_back(transport.error().message + "; using posix threads");
  }
  return with(OpenPosixTransport(depth));
}

}  // namespace tidemill::io
