#include "data/dataset_format.h"

#include <algorithm>

#include "data/jsonl_file.h"

namespace tidemill::data {
namespace {

struct KnownFormat {
  const char* name;
  std::vector<const char*> keys;  // a record with all of them is of this format; none: known by the file's ending
};

// In the order in which a record is tried.
const std::vector<KnownFormat>& KnownFormats() {
  static const std::vector<KnownFormat> formats = {
      {"tokens", {"input_ids"}},
      {"text", {"text"}},
      {"messages", {"messages"}},
      {"prompt-completion", {"prompt", "completion"}},
      {"alpaca", {"instruction", "output"}},
      {"sharegpt", {"conversations"}},
      {"txt", {}},
      {"bin", {}},
  };
  return formats;
}

Result<DatasetFormat> Built(const std::string& name, const std::string& where) {
  if (name == "tokens") return DatasetFormat::kInputIds;
  if (name == "text") return DatasetFormat::kText;
  if (name == "txt") return DatasetFormat::kPlainText;
  return Fail(ErrorCode::kInvalidArgument, "dataset format '" + name + "' is not available in this build (" + where +
                                               "): use {\"text\"} or {\"input_ids\"} records, or .txt");
}

// By the keys of the first record.
Result<DatasetFormat> FormatByKeys(const std::string& path) {
  std::string name;
  std::string keys;
  std::string where;
  TM_RETURN_IF_ERROR(JsonlFile::ReadFirst(path, [&](const JsonLine& record, const LinePlace& place) {
    where = place.Text();
    for (const KnownFormat& format : KnownFormats()) {
      const bool has_all =
          std::all_of(format.keys.begin(), format.keys.end(), [&](const char* k) { return record.Has(k); });
      if (name.empty() && !format.keys.empty() && has_all) name = format.name;
    }
    for (const std::string& key : record.Keys()) keys += (keys.empty() ? "" : ", ") + key;
    return Ok();
  }));
  if (!name.empty()) return Built(name, where);
  return Fail(ErrorCode::kInvalidArgument, "no dataset format has " + (keys.empty() ? "no keys" : "the keys " + keys) +
                                               " (" + where +
                                               "): write {\"text\": ...} or {\"input_ids\": [...]} a line");
}

}  // namespace

Result<DatasetFormat> FormatOf(const std::string& path, const std::string& name) {
  const auto& formats = KnownFormats();
  if (name != "auto") {
    std::string folded = name;
    std::replace(folded.begin(), folded.end(), '_', '-');
    if (std::any_of(formats.begin(), formats.end(), [&](const KnownFormat& f) { return folded == f.name; })) {
      return Built(folded, path);
    }
    return Fail(ErrorCode::kInvalidArgument,
                "unknown dataset format '" + name + "' (--dataset-format): one of auto, tokens, text, txt");
  }
  if (path.ends_with(".txt")) return DatasetFormat::kPlainText;
  if (path.ends_with(".bin")) return Built("bin", path);
  return FormatByKeys(path);
}

}  // namespace tidemill::data
