#include "data/companion_files.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "base/atomic_file.h"
#include "base/byte_size.h"
#include "data/input_file.h"
#include "data/output_directory.h"

namespace tidemill::data {
namespace {

namespace fs = std::filesystem;
namespace ondemand = simdjson::ondemand;
constexpr uint64_t kLimitBytes = 64 * kMiB;

bool IsCompanionName(std::string_view name) {
  constexpr std::array<std::string_view, 15> kOtherEndings{".safetensors", ".safetensors.index.json",
                                                           ".bin",         ".bin.index.json",
                                                           ".pt",          ".pth",
                                                           ".ckpt",        ".h5",
                                                           ".msgpack",     ".gguf",
                                                           ".onnx",        ".npz",
                                                           ".tflite",      ".tar",
                                                           ".partial"};
  constexpr std::array<std::string_view, 3> kRunRecords{"metrics.jsonl", "trainer_state.json", "train_results.json"};
  if (name.starts_with('.') || std::find(kRunRecords.begin(), kRunRecords.end(), name) != kRunRecords.end())
    return false;
  return std::none_of(kOtherEndings.begin(), kOtherEndings.end(),
                      [&](std::string_view ending) { return name.ends_with(ending); });
}

Status CopyFile(const std::string& from, const std::string& to) {
  TM_ASSIGN_OR_RETURN(const InputFile source, InputFile::Open(from));
  TM_ASSIGN_OR_RETURN(AtomicFile copy, AtomicFile::Create(to));
  std::vector<std::byte> piece(std::min<uint64_t>(source.bytes(), 256 * kKiB));
  for (uint64_t at = 0; at < source.bytes(); at += piece.size()) {
    const auto part = std::span(piece).first(std::min<uint64_t>(piece.size(), source.bytes() - at));
    TM_RETURN_IF_ERROR(source.ReadAt(at, part));
    TM_RETURN_IF_ERROR(copy.Append(part));
  }
  return copy.Commit();
}

// The characters of a JSON value that is a string or null, within its token and the blanks after it.
size_t ScalarLength(std::string_view token) {
  if (token.starts_with("null")) return 4;
  if (!token.starts_with('"')) return 0;
  for (size_t at = 1; at < token.size(); ++at) {
    if (token[at] == '\\') {
      ++at;
    } else if (token[at] == '"') {
      return at + 1;
    }
  }
  return 0;
}

Status CopyConfig(const std::string& from, const std::string& to, DType dtype, bool in_place) {
  TM_ASSIGN_OR_RETURN(const std::string before, ReadTextFile(from, kLimitBytes));
  auto after = ConfigWithDType(before, dtype);
  if (!after) return Fail(after.error().code, after.error().message + " ('" + from + "'): correct the file");
  if (in_place && *after == before) return Ok();
  return WriteFileAtomically(to, *after);
}

}  // namespace

Result<std::vector<std::string>> CompanionFiles(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    std::error_code unreadable;  // a link to nowhere is no companion
    const std::string name = it->path().filename();
    if (IsCompanionName(name) && it->is_regular_file(unreadable) && it->file_size(unreadable) <= kLimitBytes)
      names.push_back(name);
  }
  if (error)
    return Fail(ErrorCode::kIo,
                "cannot list '" + directory + "' (" + error.message() + "): check the path and its permissions");
  std::sort(names.begin(), names.end());
  return names;
}

Status CopyCompanionFiles(const std::string& source, const std::string& output, std::optional<DType> dtype) {
  TM_ASSIGN_OR_RETURN(const std::vector<std::string> names, CompanionFiles(source));
  TM_RETURN_IF_ERROR(MakeDirectory(output));
  std::error_code error;
  const bool in_place = fs::equivalent(source, output, error);
  for (const std::string& name : names) {
    const std::string from = (fs::path(source) / name).string(), to = (fs::path(output) / name).string();
    if (name == "config.json" && dtype.has_value()) {
      TM_RETURN_IF_ERROR(CopyConfig(from, to, *dtype, in_place));
    } else if (!in_place) {
      TM_RETURN_IF_ERROR(CopyFile(from, to));
    }
  }
  return Ok();
}

Result<std::string> ConfigWithDType(const std::string& config_json, DType dtype) {
  // On-demand parsing checks only what it visits, so a full parse comes first.
  simdjson::dom::parser whole;
  simdjson::dom::object root;
  if (const auto error = whole.parse(config_json).get_object().get(root); error != simdjson::SUCCESS)
    return Fail(ErrorCode::kInvalidArgument, std::string("not valid JSON: ") + simdjson::error_message(error));
  const simdjson::padded_string padded(config_json);
  ondemand::parser parser;
  ondemand::document document;
  ondemand::object fields;
  std::string out;
  size_t copied = 0;
  auto error = parser.iterate(padded).get(document);
  if (error == simdjson::SUCCESS) error = document.get_object().get(fields);
  if (error != simdjson::SUCCESS) return Fail(ErrorCode::kInvalidArgument, simdjson::error_message(error));
  for (auto field : fields) {
    std::string_view key;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS || (key != "torch_dtype" && key != "dtype")) continue;
    const std::string_view token = field.value().raw_json_token();
    const size_t length = ScalarLength(token);
    if (length == 0) continue;  // composite models keep a table here, one entry per part
    const auto now = DTypeFromTorchName(length > 2 ? token.substr(1, length - 2) : "");
    if (now.has_value() && *now == dtype) continue;
    const auto at = static_cast<size_t>(token.data() - padded.data());
    out += config_json.substr(copied, at - copied);
    out += '"' + std::string(TorchName(dtype)) + '"';
    copied = at + length;
  }
  return out + config_json.substr(copied);
}

}  // namespace tidemill::data
