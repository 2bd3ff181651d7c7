// What `info` says, as JSON. Keys that end in "bytes" hold bytes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"

namespace tidemill::tools {

// {"version","kernel","wsl","device","isa":[...],"cores_usable","cores_online","memory":{"total_bytes",
// "available_bytes","container_left_bytes","usable_bytes"},"memlock_bytes","io_engines":{name: "works"|"refused: ..."}}
nlohmann::ordered_json SystemInfo();

// {"model","architecture","parameters","bytes","tensors","dtypes":{dtype:{"tensors","parameters","bytes"}}}. A head
// that is tied to the embedding counts once. Reads headers only.
Result<nlohmann::ordered_json> ModelInfo(const std::string& folder);

// {"checkpoint","step","epoch",...} of trainer_state.json, then the model's.
Result<nlohmann::ordered_json> CheckpointInfo(const std::string& folder);

// {"swap_dir","file_system","device","free_bytes","total_bytes","direct","direct_memory_alignment",
// "direct_offset_alignment","rotational","network","in_memory","write_flush_read_4MiB_seconds","owner":{"run","pid",
// "started_unix_s","running"},"committed_step","memlock_bytes","io_uring","libaio","warnings":[...]}; null is not known,
// nobody, none, or no limit. Writes 4 MiB and removes them again.
Result<nlohmann::ordered_json> SwapInfo(const std::string& directory);

}  // namespace tidemill::tools
