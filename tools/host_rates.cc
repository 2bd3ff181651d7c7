#include "tools/host_rates.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <ctime>

#include "cpu_adam/bench.h"
#include "gpu/compute_bench.h"
#include "gpu/host_device.h"
#include "train/machine.h"

namespace tidemill::tools {
namespace {

std::string HostName() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::string Now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

void SayNotMeasured(const char* what, const Error& error) {
  std::fprintf(stderr, "tidemill: not measured: %s, %s\n", what, error.message.c_str());
}

// Parameters that are fp32 go by the state's encoding alone ("int8"), split ones say so ("split+int8").
std::string EncodingOf(const cpu_adam::BenchRow& row) {
  const std::string state(cpu_adam::StateDtypeName(row.state_dtype));
  return row.param_dtype == "split" ? "split+" + state : state;
}

Status MeasureAdam(bool quick, size_t threads, const io::StopQuestion& stop, HostRates& rates) {
  using cpu_adam::StateDtype;
  const size_t elements = quick ? size_t{1} << 23 : size_t{1} << 25;
  const std::array isas{cpu_adam::BestIsa()};
  std::vector<double> memory;
  for (const StateDtype state : {StateDtype::kFp32, StateDtype::kBf16, StateDtype::kInt8}) {
    if (stop()) return Fail(ErrorCode::kInterrupted, "stopped by a signal: no profile was written");
    const std::array states{state};
    const auto rows = cpu_adam::BenchAdam({elements, threads, isas, states, quick ? size_t{3} : size_t{5}});
    if (!rows.has_value()) {
      SayNotMeasured("Adam and memory", rows.error());
      return Ok();
    }
    for (const cpu_adam::BenchRow& row : *rows) {
      memory.push_back(row.bytes_per_param / row.ns_per_param * 1e9 / row.limit_fraction);
      // The forms that training has: fp32 parameters, and bf16 ones with the rest of their master.
      if (row.param_dtype == "fp32" || row.param_dtype == "split") rates.adam[EncodingOf(row)] = row.ns_per_param;
    }
  }
  rates.dram_bytes_per_s = io::MedianOf(memory);
  return Ok();
}

Status MeasureCompute(bool quick, size_t threads, HostRates& rates) {
  TM_ASSIGN_OR_RETURN(const std::unique_ptr<gpu::Device> device, gpu::MakeHostDevice({}, threads));
  const int64_t side = quick ? 1024 : 2048;
  const std::array shapes{gpu::ProductShape{512, side, side}};
  const auto products = gpu::MeasureProducts(*device, shapes, DType::kF32, quick ? 3 : 7);
  if (!products.has_value()) {
    SayNotMeasured("compute", products.error());
    return Ok();
  }
  for (const gpu::ProductRate& product : *products) rates.compute[std::string(product.operation)] = product.flops_per_s;
  return Ok();
}

}  // namespace

Result<HostRates> MeasureHost(bool quick, const io::StopQuestion& stop) {
  HostRates rates;
  rates.host = HostName();
  rates.cores = static_cast<uint64_t>(train::DescribeMachine().cores_usable);
  const auto threads = static_cast<size_t>(rates.cores);
  TM_RETURN_IF_ERROR(MeasureAdam(quick, threads, stop, rates));
  if (stop()) return Fail(ErrorCode::kInterrupted, "stopped by a signal: no profile was written");
  TM_RETURN_IF_ERROR(MeasureCompute(quick, threads, rates));
  rates.measured_at = Now();
  return rates;
}

}  // namespace tidemill::tools
