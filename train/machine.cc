#include "train/machine.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace tidemill::train {
namespace {

std::string ReadText(const std::string& path) {
  std::ostringstream text;
  std::ifstream file(path);
  if (file.good()) text << file.rdbuf();
  return text.str();
}

// The number behind `key` in lines of "key: 123 kB" or "key 123", in the file's own unit.
std::optional<uint64_t> NumberAfter(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key) || line.size() == key.size() || (line[key.size()] != ':' && line[key.size()] != ' '))
      continue;
    const size_t digit = line.find_first_of("0123456789", key.size());
    uint64_t number = 0;
    if (digit == std::string::npos) return std::nullopt;
    std::from_chars(line.data() + digit, line.data() + line.size(), number);
    return number;
  }
  return std::nullopt;
}

// A file that holds one number; "max" and a missing file are nothing.
std::optional<uint64_t> NumberIn(const std::string& path) {
  const std::string text = ReadText(path);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} ? std::optional(number) : std::nullopt;
}

// The path of this process below a cgroup hierarchy: of version 2 for an empty controller.
std::string CgroupPath(const std::string& root, const std::string& controller) {
  std::istringstream lines(ReadText(root + "/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controller.empty() ? controllers == ",," : controllers.find("," + controller + ",") != std::string::npos)
      return line.substr(second + 1);
  }
  return "";
}

// The folders from a group up to the hierarchy's root: every one of them may set a limit.
std::vector<std::string> GroupsUpwards(const std::string& hierarchy, std::filesystem::path path) {
  std::vector<std::string> folders;
  for (; path.has_relative_path(); path = path.parent_path()) folders.push_back(hierarchy + path.string());
  folders.push_back(hierarchy);
  return folders;
}

struct MemoryFiles {
  const char *limit, *used, *inactive_key;
};

std::optional<uint64_t> MemoryLeft(const std::vector<std::string>& folders, const MemoryFiles& files) {
  std::optional<uint64_t> least;
  for (const std::string& folder : folders) {
    const auto limit = NumberIn(folder + "/" + files.limit);
    constexpr uint64_t kNoLimit = 1ULL << 60;  // version 1 writes a huge number instead of "max"
    if (!limit.has_value() || *limit >= kNoLimit) continue;
    const uint64_t used = NumberIn(folder + "/" + files.used).value_or(0);
    // File pages that nobody maps are given back before anyone is killed.
    const uint64_t cache = NumberAfter(ReadText(folder + "/memory.stat"), files.inactive_key).value_or(0);
    const uint64_t held = used - std::min(used, cache);
    const uint64_t left = *limit - std::min(*limit, held);
    least = std::min(left, least.value_or(left));
  }
  return least;
}

std::optional<uint64_t> ContainerMemoryLeft(const std::string& root) {
  const std::string unified = root + "/sys/fs/cgroup", memory = unified + "/memory";
  const auto v2 =
      MemoryLeft(GroupsUpwards(unified, CgroupPath(root, "")), {"memory.max", "memory.current", "inactive_file"});
  const auto v1 = MemoryLeft(GroupsUpwards(memory, CgroupPath(root, "memory")),
                             {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"});
  return v2.has_value() && v1.has_value() ? std::min(v2, v1) : (v2.has_value() ? v2 : v1);
}

std::optional<uint64_t> AddressSpaceLeft(const std::string& root) {
  const auto limit = NumberAfter(ReadText(root + "/proc/self/limits"), "Max address space");
  if (!limit.has_value()) return std::nullopt;
  uint64_t pages = 0;
  std::istringstream(ReadText(root + "/proc/self/statm")) >> pages;
  return *limit - std::min(*limit, pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
}

// The quota of "200000 100000" is two cores; part of a core counts as one.
int64_t QuotaCores(const std::string& root, int64_t cores) {
  for (const std::string& folder : GroupsUpwards(root + "/sys/fs/cgroup", CgroupPath(root, ""))) {
    std::istringstream text(ReadText(folder + "/cpu.max"));
    int64_t quota = 0, period = 0;
    if (text >> quota >> period && quota > 0 && period > 0) cores = std::min(cores, (quota + period - 1) / period);
  }
  return std::max<int64_t>(1, cores);
}

int64_t AffinityCores(int64_t online) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  // More processors than the mask holds: the kernel refuses, and all of them count.
  return sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : online;
}

}  // namespace

uint64_t Machine::usable_memory_bytes() const {
  return std::min({memory_available_bytes, container_left_bytes.value_or(memory_available_bytes),
                   address_space_left_bytes.value_or(memory_available_bytes)});
}

Machine DescribeMachine(const std::string& root) {
  Machine machine;
  machine.kernel = ReadText(root + "/proc/sys/kernel/osrelease");
  while (machine.kernel.ends_with('\n')) machine.kernel.pop_back();
  machine.wsl = machine.kernel.find("icrosoft") != std::string::npos;
  machine.cores_online = std::max<int64_t>(1, sysconf(_SC_NPROCESSORS_ONLN));
  machine.cores_usable = QuotaCores(root, AffinityCores(machine.cores_online));
  const std::string memory = ReadText(root + "/proc/meminfo");
  machine.memory_total_bytes = NumberAfter(memory, "MemTotal").value_or(0) * 1024;
  machine.memory_available_bytes = NumberAfter(memory, "MemAvailable").value_or(0) * 1024;
  machine.container_left_bytes = ContainerMemoryLeft(root);
  machine.address_space_left_bytes = AddressSpaceLeft(root);
  rlimit locked{};
  if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_cur != RLIM_INFINITY)
    machine.memlock_bytes = locked.rlim_cur;
  const std::string status = ReadText(root + "/proc/self/status");
  const size_t effective = status.find("CapEff:\t");
  uint64_t capabilities = 0;
  if (effective != std::string::npos)
    std::from_chars(status.data() + effective + 8, status.data() + status.size(), capabilities, 16);
  constexpr int kCapIpcLock = 14;
  machine.may_exceed_memlock = ((capabilities >> kCapIpcLock) & 1) != 0;
  return machine;
}

}  // namespace tidemill::train
