#include "gpu/device_spec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "base/byte_size.h"

namespace tidemill::gpu {
namespace {

tl::unexpected<Error> Wrong(std::string_view what, std::string_view advice) {
  return Fail(ErrorCode::kInvalidArgument, "--device " + std::string(what) + ": " + std::string(advice));
}

Result<double> ParseRate(std::string_view key, std::string_view value) {
  if (key != "flops") return ParseByteRate(value);
  double rate = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), rate);
  if (error != std::errc() || end != value.data() + value.size() || !std::isfinite(rate))
    return Fail(ErrorCode::kInvalidArgument, "'" + std::string(value) + "' is not a number of operations per second");
  return rate;
}

// '_' and '-' are the same in a key, as in a flag.
Status SetKey(DeviceSpec& spec, std::string key, std::string_view value) {
  std::replace(key.begin(), key.end(), '_', '-');
  if (key == "mem") {
    const auto bytes = ParseByteSize(value);
    if (!bytes) return Wrong("mem", bytes.error().message);
    if (*bytes == 0) return Wrong("mem", "a device needs some memory");
    spec.memory_bytes = *bytes;
    return Ok();
  }
  struct Rate {
    std::string_view key;
    double* field;
  };
  const std::array<Rate, 4> rates{{{"pcie", &spec.pcie_bytes_per_s},
                                   {"flops", &spec.flops_per_s},
                                   {"nvme-read", &spec.nvme_read_bytes_per_s},
                                   {"nvme-write", &spec.nvme_write_bytes_per_s}}};
  for (const Rate& rate : rates) {
    if (rate.key != key) continue;
    const auto parsed = ParseRate(key, value);
    if (!parsed) return Wrong(key, parsed.error().message);
    if (*parsed <= 0) return Wrong(key, "a rate is above 0; leave the key out for no throttle");
    *rate.field = *parsed;
    return Ok();
  }
  return Wrong("key '" + key + "' is not known", "use mem, pcie, flops, nvme-read or nvme-write");
}

}  // namespace

Result<DeviceSpec> ParseDeviceSpec(std::string_view text) {
  DeviceSpec spec;
  if (text == "auto" || text == "cpu" || text == "host") return spec;
  if (text == "cuda" || text.starts_with("cuda:"))
    return Fail(ErrorCode::kInvalidArgument,
                "--device " + std::string(text) + " is not available in this build: use cpu, or host:mem=...");
  if (!text.starts_with("host:"))
    return Wrong("'" + std::string(text) + "' is not a device", "use auto, cpu, cuda, cuda:N or host:mem=2GiB,...");
  std::string seen = ",";
  for (std::string_view rest = text.substr(5);;) {
    const std::string_view item = rest.substr(0, rest.find(','));
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos) return Wrong("'" + std::string(item) + "' has no value", "write key=value");
    const std::string_view key = item.substr(0, equals);
    if (seen.find("," + std::string(key) + ",") != std::string::npos) return Wrong(key, "is given twice");
    seen += std::string(key) + ",";
    TM_RETURN_IF_ERROR(SetKey(spec, std::string(key), item.substr(equals + 1)));
    if (item.size() == rest.size()) return spec;
    rest.remove_prefix(item.size() + 1);
  }
}

}  // namespace tidemill::gpu
