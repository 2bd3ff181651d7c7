#include "train/config/io_profile.h"

#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "data/json_file.h"
#include "train/config/flag_spec.h"
#include "train/config/json_object.h"

namespace tidemill::train {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view kAdvice = "give the file that tidemill tune writes";

// One object of the file, whose keys are taken one after the other; what nobody took is unknown.
class Reader {
 public:
  Reader(const json& object, std::string where, const std::string& path)
      : object_(object), where_(std::move(where)), path_(path) {}

  tl::unexpected<Error> Refuse(const std::string& key, const std::string& what) const {
    return Fail(ErrorCode::kInvalidArgument,
                where_ + "." + key + " " + what + " (" + path_ + "): " + std::string(kAdvice));
  }

  // Null is absent too.
  const json* Take(const std::string& key) {
    taken_.insert(key);
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  Status Text(const std::string& key, std::optional<std::string>& out) {
    const json* const value = Take(key);
    if (value == nullptr) return Ok();
    if (!value->is_string()) return Refuse(key, "is " + value->dump() + ", not a text");
    out = value->get<std::string>();
    return Ok();
  }

  Status Count(const std::string& key, std::optional<uint64_t>& out) {
    const json* const value = Take(key);
    if (value == nullptr) return Ok();
    if (!value->is_number_unsigned() || value->get<uint64_t>() == 0)
      return Refuse(key, "is " + value->dump() + ", not a whole number from 1");
    out = value->get<uint64_t>();
    return Ok();
  }

  Status Rate(const std::string& key, std::optional<double>& out, bool zero_too = false) {
    const json* const value = Take(key);
    if (value == nullptr) return Ok();
    const double number = value->is_number() ? value->get<double>() : -1;
    if (!std::isfinite(number) || number < 0 || (number == 0 && !zero_too))
      return Refuse(key, "is " + value->dump() + ", not a positive number");
    out = number;
    return Ok();
  }

  Status Rates(const std::string& key, std::map<std::string, double>& out) {
    const json* const value = Take(key);
    if (value == nullptr) return Ok();
    if (!value->is_object()) return Refuse(key, "is " + value->dump() + ", not an object");
    Reader inner(*value, where_ + "." + key, path_);
    for (const auto& [name, unused] : value->items()) {
      std::optional<double> rate;
      TM_RETURN_IF_ERROR(inner.Rate(name, rate));
      if (rate.has_value()) out[name] = *rate;
    }
    return Ok();
  }

  Status NothingElse() const {
    const std::vector<std::string_view> known(taken_.begin(), taken_.end());
    for (const auto& [key, unused] : object_.items()) {
      if (taken_.contains(key)) continue;
      const std::string nearest = NearestName(key, known);
      return Refuse(key, "is unknown" + (nearest.empty() ? "" : ", perhaps it is " + nearest));
    }
    return Ok();
  }

 private:
  const json& object_;
  const std::string where_;
  const std::string& path_;
  std::set<std::string> taken_;
};

Result<IoProfile::SwapDir> ParseSwapDir(const json& object, const std::string& where, const std::string& path) {
  IoProfile::SwapDir entry;
  Reader reader(object, where, path);
  std::optional<std::string> directory;
  TM_RETURN_IF_ERROR(reader.Text("path", directory));
  if (!directory.has_value() || directory->empty()) return reader.Refuse("path", "is missing");
  entry.path = *directory;
  TM_RETURN_IF_ERROR(reader.Text("engine", entry.engine));
  constexpr std::string_view kEngines = "auto|io_uring|libaio|posix";
  if (entry.engine.has_value() && !IsChoice(kEngines, *entry.engine))
    return reader.Refuse("engine", "is '" + *entry.engine + "', not one of " + ChoicesText(kEngines));
  TM_RETURN_IF_ERROR(reader.Count("bs_bytes", entry.bs_bytes));
  constexpr uint64_t kAlignment = 4096, kBlockMax = uint64_t{1} << 30, kInFlightMax = 65'536;
  if (entry.bs_bytes.has_value() && (*entry.bs_bytes % kAlignment != 0 || *entry.bs_bytes > kBlockMax))
    return reader.Refuse("bs_bytes", "is " + std::to_string(*entry.bs_bytes) + ", not a multiple of 4096 up to 1 GiB");
  TM_RETURN_IF_ERROR(reader.Count("iodepth", entry.iodepth));
  TM_RETURN_IF_ERROR(reader.Count("numjobs", entry.numjobs));
  for (const auto& [key, value] : {std::pair{"iodepth", entry.iodepth}, {"numjobs", entry.numjobs}}) {
    if (value.value_or(1) > kInFlightMax)
      return reader.Refuse(key, "is " + std::to_string(*value) + ", more than " + std::to_string(kInFlightMax));
  }
  TM_RETURN_IF_ERROR(reader.Rate("read_bytes_per_s", entry.read_bytes_per_s));
  TM_RETURN_IF_ERROR(reader.Rate("write_bytes_per_s", entry.write_bytes_per_s));
  TM_RETURN_IF_ERROR(reader.Rate("latency_us", entry.latency_us));
  if (const json* const mixed = reader.Take("mixed"); mixed != nullptr) {
    if (!mixed->is_object()) return reader.Refuse("mixed", "is " + mixed->dump() + ", not an object");
    Reader inner(*mixed, where + ".mixed", path);
    TM_RETURN_IF_ERROR(inner.Rate("read_bytes_per_s", entry.mixed_read_bytes_per_s));
    TM_RETURN_IF_ERROR(inner.Rate("write_bytes_per_s", entry.mixed_write_bytes_per_s));
    TM_RETURN_IF_ERROR(inner.NothingElse());
  }
  TM_RETURN_IF_ERROR(reader.NothingElse());
  return entry;
}

Status ParseSwapDirs(Reader& reader, const std::string& path, IoProfile& profile) {
  const json* const list = reader.Take("swap_dirs");
  if (list == nullptr) return Ok();
  if (!list->is_array()) return reader.Refuse("swap_dirs", "is " + list->dump() + ", not a list");
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string name = "swap_dirs[" + std::to_string(i) + "]";
    if (!(*list)[i].is_object()) return reader.Refuse(name, "is " + (*list)[i].dump() + ", not an object");
    TM_ASSIGN_OR_RETURN(IoProfile::SwapDir entry, ParseSwapDir((*list)[i], "$." + name, path));
    if (profile.Find(entry.path) != nullptr) return reader.Refuse(name, "repeats the path '" + entry.path + "'");
    profile.swap_dirs.push_back(std::move(entry));
  }
  return Ok();
}

std::filesystem::path Whole(const std::string& directory) {
  std::error_code ignored;  // a directory of another machine need not be here
  auto whole = std::filesystem::weakly_canonical(std::filesystem::absolute(directory, ignored), ignored);
  return whole.has_filename() ? whole : whole.parent_path();  // "swap/" is "swap"
}

// Whole numbers without a fraction: bytes each second are counted in bytes.
ordered_json Number(double value) {
  constexpr double kExactMost = 9007199254740992.0;  // 2^53
  if (value == std::trunc(value) && std::abs(value) <= kExactMost) return static_cast<int64_t>(value);
  return value;
}

template <typename T>
void Put(ordered_json& object, const char* key, const std::optional<T>& value) {
  if (!value.has_value()) return;
  if constexpr (std::is_same_v<T, double>) {
    object[key] = Number(*value);
  } else {
    object[key] = *value;
  }
}

void Put(ordered_json& object, const char* key, const std::map<std::string, double>& rates) {
  for (const auto& [name, rate] : rates) object[key][name] = Number(rate);
}

ordered_json JsonOf(const IoProfile::SwapDir& entry) {
  ordered_json object;
  object["path"] = entry.path;
  Put(object, "engine", entry.engine);
  Put(object, "bs_bytes", entry.bs_bytes);
  Put(object, "iodepth", entry.iodepth);
  Put(object, "numjobs", entry.numjobs);
  Put(object, "read_bytes_per_s", entry.read_bytes_per_s);
  Put(object, "write_bytes_per_s", entry.write_bytes_per_s);
  ordered_json mixed;
  Put(mixed, "read_bytes_per_s", entry.mixed_read_bytes_per_s);
  Put(mixed, "write_bytes_per_s", entry.mixed_write_bytes_per_s);
  if (!mixed.is_null()) object["mixed"] = mixed;
  Put(object, "latency_us", entry.latency_us);
  return object;
}

}  // namespace

const IoProfile::SwapDir* IoProfile::Find(const std::string& directory) const {
  const auto whole = Whole(directory);
  for (const SwapDir& entry : swap_dirs) {
    if (Whole(entry.path) == whole) return &entry;
  }
  return nullptr;
}

Result<IoProfile> ParseIoProfile(const std::string& text, const std::string& path) {
  TM_ASSIGN_OR_RETURN(const json object, ParseJsonObject(text, path, kAdvice));
  IoProfile profile;
  Reader reader(object, "$", path);
  std::optional<uint64_t> version;
  TM_RETURN_IF_ERROR(reader.Count("version", version));
  if (!version.has_value()) return reader.Refuse("version", "is missing");
  if (*version != static_cast<uint64_t>(IoProfile::kVersion))
    return reader.Refuse(
        "version", "is " + std::to_string(*version) + ", and this build reads " + std::to_string(IoProfile::kVersion));
  TM_RETURN_IF_ERROR(reader.Text("host", profile.host));
  TM_RETURN_IF_ERROR(reader.Text("device", profile.device));
  TM_RETURN_IF_ERROR(ParseSwapDirs(reader, path, profile));
  TM_RETURN_IF_ERROR(reader.Rate("upload_bytes_per_s", profile.upload_bytes_per_s));
  TM_RETURN_IF_ERROR(reader.Rate("download_bytes_per_s", profile.download_bytes_per_s));
  TM_RETURN_IF_ERROR(reader.Rate("duplex_bytes_per_s", profile.duplex_bytes_per_s));
  TM_RETURN_IF_ERROR(reader.Rate("dram_bytes_per_s", profile.dram_bytes_per_s));
  TM_RETURN_IF_ERROR(reader.Rates("adam", profile.adam));
  TM_RETURN_IF_ERROR(reader.Rates("compute", profile.compute));
  TM_RETURN_IF_ERROR(reader.Count("cores", profile.cores));
  TM_RETURN_IF_ERROR(reader.Text("measured_at", profile.measured_at));
  TM_RETURN_IF_ERROR(reader.Rate("spread", profile.spread, true));
  TM_RETURN_IF_ERROR(reader.NothingElse());
  return profile;
}

Result<IoProfile> ReadIoProfile(const std::string& path) {
  TM_ASSIGN_OR_RETURN(const std::string text, data::ReadJsonFile(path));
  return ParseIoProfile(text, path);
}

std::string FormatIoProfile(const IoProfile& profile) {
  ordered_json object;
  object["version"] = IoProfile::kVersion;
  Put(object, "host", profile.host);
  Put(object, "device", profile.device);
  for (const IoProfile::SwapDir& entry : profile.swap_dirs) object["swap_dirs"].push_back(JsonOf(entry));
  Put(object, "upload_bytes_per_s", profile.upload_bytes_per_s);
  Put(object, "download_bytes_per_s", profile.download_bytes_per_s);
  Put(object, "duplex_bytes_per_s", profile.duplex_bytes_per_s);
  Put(object, "dram_bytes_per_s", profile.dram_bytes_per_s);
  Put(object, "adam", profile.adam);
  Put(object, "compute", profile.compute);
  Put(object, "cores", profile.cores);
  Put(object, "measured_at", profile.measured_at);
  Put(object, "spread", profile.spread);
  return object.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace tidemill::train
