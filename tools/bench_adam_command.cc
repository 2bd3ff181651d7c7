// `tidemill bench adam`: how fast this CPU steps Adam, as a fraction of what its memory allows.
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/byte_size.h"
#include "cpu_adam/bench.h"
#include "cpu_adam/self_check.h"
#include "tools/commands.h"

namespace tidemill::tools {
namespace {

constexpr FlagSpec kFlags[] = {
    {"elements", FlagKind::kInteger, "33554432", "parameters to step; take many times the last-level cache"},
    {"threads", FlagKind::kInteger, "auto", "auto: the cores that this process may use", "auto"},
    {"state-dtype", FlagKind::kText, "all", "encoding of the moments", "all|fp32|bf16|int8"},
    {"isa", FlagKind::kText, "auto", "auto: the best this CPU has; all: every one it has",
     "auto|all|scalar|avx2|avx512"},
    {"steps", FlagKind::kInteger, "5", "timed steps of a row, after an untimed one"},
    {"check", FlagKind::kBool, "false", "compare every kernel with the scalar one and float64 first"},
    {"json", FlagKind::kBool, "false", "print one JSON object"},
};

constexpr uint64_t kBytesPerElement = 18;

Result<size_t> Positive(const Flags& flags, std::string_view name) {
  const int64_t value = flags.Integer(name);
  if (value > 0) return static_cast<size_t>(value);
  return Fail(ErrorCode::kInvalidArgument,
              "--" + std::string(name) + " is " + std::to_string(value) + " (command line): give a positive number");
}

Result<size_t> Threads(const Flags& flags) {
  if (flags.Text("threads") != "auto") return Positive(flags, "threads");
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  return static_cast<size_t>(CPU_COUNT(&cores));
}

Result<std::vector<cpu_adam::Isa>> Isas(const std::string& name) {
  const auto supported = cpu_adam::SupportedIsas();
  if (name == "all") return std::vector(supported.begin(), supported.end());
  if (name == "auto") return std::vector{cpu_adam::BestIsa()};
  TM_ASSIGN_OR_RETURN(const cpu_adam::Isa isa, cpu_adam::IsaFromName(name));
  return std::vector{isa};
}

Result<std::vector<cpu_adam::StateDtype>> States(const std::string& name) {
  using cpu_adam::StateDtype;
  if (name == "all") return std::vector{StateDtype::kFp32, StateDtype::kBf16, StateDtype::kInt8};
  TM_ASSIGN_OR_RETURN(const StateDtype state, cpu_adam::StateDtypeFromName(name));
  return std::vector{state};
}

Status CheckMemory(size_t elements) {
  const auto free_bytes =
      static_cast<uint64_t>(::sysconf(_SC_AVPHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  if (elements <= free_bytes / kBytesPerElement) return Ok();
  return Fail(ErrorCode::kDoesNotFit, std::to_string(elements) + " elements take " + std::to_string(kBytesPerElement) +
                                          " bytes each and " + FormatBytes(free_bytes) +
                                          " are free (--elements): give at most " +
                                          std::to_string(free_bytes / kBytesPerElement));
}

void PrintTable(std::span<const cpu_adam::BenchRow> rows) {
  std::printf("%-7s %-10s %-5s %-6s %8s %9s %10s %7s %9s\n", "isa", "parameter", "grad", "state", "threads", "ns/param",
              "bytes/param", "GB/s", "of limit");
  for (const auto& row : rows) {
    std::printf("%-7s %-10s %-5s %-6s %8zu %9.3f %11.2f %7.1f %8.1f%%\n", cpu_adam::IsaName(row.isa).data(),
                row.param_dtype.data(), row.grad_dtype.data(), cpu_adam::StateDtypeName(row.state_dtype).data(),
                row.threads, row.ns_per_param, row.bytes_per_param, row.bytes_per_param / row.ns_per_param,
                row.limit_fraction * 100);
  }
}

void PrintJson(std::span<const cpu_adam::BenchRow> rows) {
  std::printf("{\"results\":[");
  const char* separator = "";
  for (const auto& row : rows) {
    std::printf(
        "%s\n{\"state_dtype\":\"%s\",\"param_dtype\":\"%s\",\"grad_dtype\":\"%s\",\"threads\":%zu,\"isa\":\"%s\","
        "\"ns_per_param\":%.6f,\"bytes_per_param\":%.6f,\"gb_per_s\":%.4f,\"limit_fraction\":%.6f}",
        separator, cpu_adam::StateDtypeName(row.state_dtype).data(), row.param_dtype.data(), row.grad_dtype.data(),
        row.threads, cpu_adam::IsaName(row.isa).data(), row.ns_per_param, row.bytes_per_param,
        row.bytes_per_param / row.ns_per_param, row.limit_fraction);
    separator = ",";
  }
  std::printf("\n]}\n");
}

Status Run(const Flags& flags) {
  TM_ASSIGN_OR_RETURN(const size_t elements, Positive(flags, "elements"));
  TM_ASSIGN_OR_RETURN(const size_t threads, Threads(flags));
  TM_ASSIGN_OR_RETURN(const size_t steps, Positive(flags, "steps"));
  TM_ASSIGN_OR_RETURN(const auto isas, Isas(flags.Text("isa")));
  TM_ASSIGN_OR_RETURN(const auto states, States(flags.Text("state-dtype")));
  TM_RETURN_IF_ERROR(CheckMemory(elements));
  if (flags.Bool("check")) {
    TM_ASSIGN_OR_RETURN(const size_t tiles, cpu_adam::CheckKernels(isas));
    std::fprintf(stderr, "check: %zu tiles, every one has the scalar kernel's bits and its guards whole\n", tiles);
  }
  TM_ASSIGN_OR_RETURN(const auto rows, cpu_adam::BenchAdam({elements, threads, isas, states, steps}));
  if (flags.Bool("json")) {
    PrintJson(rows);
  } else {
    PrintTable(rows);
  }
  return Ok();
}

}  // namespace

const Command kBenchAdam{"bench adam",
                         "[flags]",
                         "How fast this CPU steps Adam, beside what its memory allows.",
                         [] { return std::span<const FlagSpec>(kFlags); },
                         0,
                         Run};

}  // namespace tidemill::tools
