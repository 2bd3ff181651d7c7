// A directory that something will be written into: it is there, and has the room.
//
//   Errors   both name the directory; kInvalidArgument where it cannot be one, or may not be used.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace tidemill::data {

// Makes it, and its parents, if it is missing; this user may write into it. kNoSpace on a full disk, kIo where that
// fails otherwise.
Status MakeDirectory(const std::string& directory);

// kDoesNotFit when its file system has less than `bytes` free for this user; kIo when that cannot be measured.
Status RequireFreeSpace(const std::string& directory, uint64_t bytes);

}  // namespace tidemill::data
