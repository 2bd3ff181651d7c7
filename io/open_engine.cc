#include "io/open_engine.h"

#include <array>
#include <utility>

namespace tidemill::io {

namespace {
constexpr std::array<std::string_view, 4> kNames{"auto", "io_uring", "libaio", "posix"};  // by EngineChoice
}

std::string_view Name(EngineChoice choice) { return kNames[static_cast<size_t>(choice)]; }

Result<EngineChoice> ParseEngineChoice(std::string_view text) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == text) return static_cast<EngineChoice>(i);
  }
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
