// `tidemill info`: what this machine offers.
#include <sched.h>
#include <sys/resource.h>

#include <cstdio>

#include "tools/commands.h"

namespace tidemill::tools {
namespace {

constexpr FlagSpec kFlags[] = {
    {"json", FlagKind::kBool, "false", "print one JSON object"},
};

Status Run(const Flags& flags) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  std::printf(flags.Bool("json") ? "{\"cores\":%d}\n" : "cores %d\n", CPU_COUNT(&cores));
  return Ok();
}

}  // namespace

const Command kInfo{"info", "[flags]", "What this machine offers.", [] { return std::span<const FlagSpec>(kFlags); },
                    0,      Run};

}  // namespace tidemill::tools
