#include <array>
#include <nlohmann/json.hpp>

#include "cpu_adam/isa.h"
#include "io/open_engine.h"
#include "tools/info.h"
#include "train/machine.h"

namespace tidemill::tools {
namespace {

using nlohmann::ordered_json;

std::string TryEngine(io::EngineChoice choice) {
  io::EngineOptions options;
  options.choice = choice;
  options.limits.depth = 1;
  const auto opened = io::OpenEngine(options);
  return opened.has_value() ? "works" : opened.error().message;
}

}  // namespace

ordered_json SystemInfo() {
  const train::Machine machine = train::DescribeMachine();
  ordered_json info;
  info["version"] = TIDEMILL_VERSION;
  info["kernel"] = machine.kernel;
  info["wsl"] = machine.wsl;
  info["device"] = "host, " + std::to_string(machine.cores_usable) + " threads, " +
                   std::string(cpu_adam::IsaName(cpu_adam::BestIsa()));
  info["cuda"] = false;  // no CUDA device in this build
  for (const cpu_adam::Isa isa : cpu_adam::SupportedIsas()) info["isa"].push_back(cpu_adam::IsaName(isa));
  info["cores_usable"] = machine.cores_usable;
  info["cores_online"] = machine.cores_online;
  ordered_json& memory = info["memory"];
  memory["total_bytes"] = machine.memory_total_bytes;
  memory["available_bytes"] = machine.memory_available_bytes;
  memory["container_left_bytes"] = nullptr;
  if (machine.container_left_bytes.has_value()) memory["container_left_bytes"] = *machine.container_left_bytes;
  memory["usable_bytes"] = machine.usable_memory_bytes();
  info["memlock_bytes"] = nullptr;
  if (machine.memlock_bytes.has_value()) info["memlock_bytes"] = *machine.memlock_bytes;
  info["may_exceed_memlock"] = machine.may_exceed_memlock;
  ordered_json& engines = info["io_engines"];
  engines["io_uring"] = TryEngine(io::EngineChoice::kIoUring);
  engines["libaio"] = TryEngine(io::EngineChoice::kLibaio);
  engines["posix"] = TryEngine(io::EngineChoice::kPosix);
  return info;
}

}  // namespace tidemill::tools
