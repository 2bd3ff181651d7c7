#include "train/config/device_spec.h"

#include <array>
#include <charconv>
#include <string>

#include "base/byte_size.h"
#include "train/config/flag_spec.h"
#include "train/config/flag_value.h"

namespace tidemill::train {
namespace {

tl::unexpected<Error> Refuse(std::string_view what, std::string_view remedy) {
  return Fail(ErrorCode::kInvalidArgument, std::string(what) + " (--device): " + std::string(remedy));
}

Result<double> ParseRate(std::string_view text) {
  TM_ASSIGN_OR_RETURN(const double rate, ParseByteRate(text));
  if (rate <= 0) return Refuse("'" + std::string(text) + "' is not a rate above zero", "leave the part out instead");
  return rate;
}

Status ReadPart(std::string_view part, DeviceSpec* spec) {
  const size_t equals = part.find('=');
  const std::string name = FoldName(part.substr(0, equals));
  const std::string_view value = equals == std::string_view::npos ? "" : part.substr(equals + 1);
  if (value.empty()) return Refuse("'" + std::string(part) + "' has no value", "write name=value");
  if (name == "mem") {
    if (value == "auto") return Ok();
    TM_ASSIGN_OR_RETURN(spec->memory_bytes, ParseSize(value, "mem= (--device)"));
    if (spec->memory_bytes == 0) return Refuse("a device without memory", "give mem= a size");
    return Ok();
  }
  if (name == "flops") {
    TM_ASSIGN_OR_RETURN(spec->flops, ParseNumber(value, "flops= (--device)"));
    if (spec->flops <= 0) return Refuse("flops= is not above zero", "leave the part out instead");
    return Ok();
  }
  constexpr std::array<std::string_view, 5> kNames{"mem", "flops", "pcie", "nvme-read", "nvme-write"};
  double* const rates[] = {nullptr, nullptr, &spec->pcie_bytes_per_s, &spec->nvme_read_bytes_per_s,
                           &spec->nvme_write_bytes_per_s};
  for (size_t i = 2; i < kNames.size(); ++i) {
    if (name != kNames[i]) continue;
    TM_ASSIGN_OR_RETURN(*rates[i], ParseRate(value));
    return Ok();
  }
  const std::string nearest = NearestName(name, kNames);
  return Refuse("unknown part '" + name + "'",
                nearest.empty() ? "it has mem, pcie, flops, nvme-read, nvme-write" : "did you mean " + nearest);
}

}  // namespace

Result<DeviceSpec> ParseDeviceSpec(std::string_view text) {
  DeviceSpec spec;
  if (text == "auto") return spec;
  spec.kind = DeviceSpec::Kind::kHost;
  if (text == "cpu" || text == "host") return spec;
  if (text == "cuda" || text.starts_with("cuda:")) {
    spec.kind = DeviceSpec::Kind::kCuda;
    if (text == "cuda") return spec;
    const std::string_view index = text.substr(5);
    const auto [end, error] = std::from_chars(index.data(), index.data() + index.size(), spec.index);
    if (error != std::errc{} || end != index.data() + index.size() || spec.index < 0)
      return Refuse("'" + std::string(text) + "' has no device number", "write cuda:0");
    return spec;
  }
  if (!text.starts_with("host:"))
    return Refuse("unknown device '" + std::string(text) + "'", "give auto, cpu, cuda, cuda:N or host:mem=SIZE,...");
  for (std::string_view left = text.substr(5); !left.empty();) {
    const size_t comma = left.find(',');
    TM_RETURN_IF_ERROR(ReadPart(left.substr(0, comma), &spec));
    left = comma == std::string_view::npos ? std::string_view() : left.substr(comma + 1);
  }
  return spec;
}

}  // namespace tidemill::train
