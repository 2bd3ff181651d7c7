#include <nlohmann/json.hpp>

#include "io/probe.h"
#include "io/swap_directory.h"
#include "tools/info.h"
#include "train/committed_step.h"

namespace tidemill::tools {

using nlohmann::ordered_json;

Result<ordered_json> SwapInfo(const std::string& directory) {
  TM_ASSIGN_OR_RETURN(const io::DirectoryReport report, io::ProbeDirectory(directory));
  TM_ASSIGN_OR_RETURN(const auto owner, io::ReadSwapOwner(directory));
  ordered_json info;
  info["swap_dir"] = report.path;
  info["file_system"] = report.file_system;
  info["device"] = report.device;
  info["free_bytes"] = report.free_bytes;
  info["total_bytes"] = report.total_bytes;
  info["direct"] = report.direct;
  info["direct_memory_alignment"] = report.direct_memory_alignment;
  info["direct_offset_alignment"] = report.direct_offset_alignment;
  info["rotational"] = nullptr;
  if (report.rotational.has_value()) info["rotational"] = *report.rotational;
  info["network"] = report.network;
  info["in_memory"] = report.in_memory;
  info["write_flush_read_4MiB_seconds"] = report.probe_seconds;
  info["owner"] = nullptr;
  if (owner.has_value())
    info["owner"] = {{"run", owner->identity},
                     {"pid", owner->pid},
                     {"started_unix_s", owner->started_unix_s},
                     {"running", owner->alive}};
  info["committed_step"] = nullptr;
  TM_ASSIGN_OR_RETURN(const train::FoundCommits commits, train::FindCommits({directory}));
  if (!commits.newest_first.empty()) info["committed_step"] = commits.newest_first.front().run.state.global_step;
  const io::MachineReport machine = io::ProbeEngines();
  info["memlock_bytes"] = nullptr;
  if (machine.memlock_bytes.has_value()) info["memlock_bytes"] = *machine.memlock_bytes;
  info["io_uring"] = machine.io_uring_refusal.empty() ? "works" : machine.io_uring_refusal;
  info["libaio"] = machine.libaio_refusal.empty() ? "works" : machine.libaio_refusal;
  info["warnings"] = report.Warnings();
  for (const std::string& damage : commits.damaged) info["warnings"].push_back(damage);
  return info;
}

}  // namespace tidemill::tools
