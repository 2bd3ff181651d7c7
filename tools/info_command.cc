// `tidemill info`: what this machine offers, or what a folder holds.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "base/byte_size.h"
#include "tools/commands.h"
#include "tools/info.h"

namespace tidemill::tools {
namespace {

using nlohmann::ordered_json;

constexpr FlagSpec kFlags[] = {
    {"model", FlagKind::kPath, "", "describe this Hugging Face folder instead"},
    {"checkpoint", FlagKind::kPath, "", "describe this checkpoint instead"},
    {"swap-dir", FlagKind::kPath, "", "describe this swap directory instead"},
    {"json", FlagKind::kBool, "false", "print one JSON object"},
};

std::string Plain(const std::string& key, const ordered_json& value) {
  if (value.is_null()) return "none";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (key.ends_with("bytes") && value.is_number_unsigned()) return FormatBytes(value.get<uint64_t>());
  return value.dump();
}

// "key  value" lines, nested objects indented.
void PrintForPeople(const ordered_json& object, size_t indent) {
  for (const auto& [key, value] : object.items()) {
    std::string name = key.ends_with("_bytes") ? key.substr(0, key.size() - 6) : key;
    for (char& c : name) c = c == '_' ? ' ' : c;
    const auto width = static_cast<int>(28 - indent);
    std::printf("%*s%-*s", static_cast<int>(indent), "", value.is_object() ? 0 : width, name.c_str());
    std::printf("%s\n", value.is_object() ? "" : Plain(key, value).c_str());
    if (value.is_object()) PrintForPeople(value, indent + 2);
  }
}

Status Run(const Flags& flags) {
  Result<ordered_json> info = flags.Has("model")        ? ModelInfo(flags.Text("model"))
                              : flags.Has("checkpoint") ? CheckpointInfo(flags.Text("checkpoint"))
                              : flags.Has("swap-dir")   ? SwapInfo(flags.Text("swap-dir"))
                                                        : Result<ordered_json>(SystemInfo());
  if (!info.has_value()) return tl::make_unexpected(std::move(info.error()));
  if (flags.Bool("json")) {
    std::printf("%s\n", info->dump(-1, ' ', false, ordered_json::error_handler_t::replace).c_str());
  } else {
    PrintForPeople(*info, 0);
  }
  return Ok();
}

}  // namespace

const Command kInfo{"info",
                    "[--model DIR | --checkpoint DIR | --swap-dir DIR] [flags]",
                    "What this machine offers, or what a folder holds.",
                    [] { return std::span<const FlagSpec>(kFlags); },
                    0,
                    Run};

}  // namespace tidemill::tools
