// Looks at the swap directories before a run depends on them: 4 MiB are written, flushed and read back in each.
//
// What cannot work at all is an error; what will be slow is a line for people. Free space is checked against the plan
// when the directories have been claimed, since a dead run of the same identity gives its space back then; a directory
// that refuses files, or locked memory that does not suffice, is named by who needs it.
//
//   Errors   kInvalidArgument: no such directory; kStorage, kCorrupt: the bytes failed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/probe.h"

namespace tidemill::train {

Result<std::vector<std::string>> CheckSwapDirectories(std::span<const std::string> directories);

// A line for each thing that makes swapping slow or pointless: a hard disk, a network, memory. Pure.
std::vector<std::string> SwapWarnings(std::span<const io::DirectoryReport> reports);

}  // namespace tidemill::train
