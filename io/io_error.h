// What the kernel said, as an Error with the right code and everything a person needs to find the place.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "io/block_file.h"

namespace tidemill::io {

// "Input/output error (EIO)".
std::string DescribeErrno(int error_number);

// A transfer that failed. kNoSpace for ENOSPC, EDQUOT and EFBIG, else kStorage.
//   `offset_bytes`, `expected_bytes`: the range that was asked for; `moved_bytes`: how much of it had moved.
Error TransferError(const BlockFile& file, IoRequest::Op op, uint64_t offset_bytes, uint64_t expected_bytes,
                    uint64_t moved_bytes, int error_number);

// A read that met the end of the file: kCorrupt.
Error EndOfFileError(const BlockFile& file, uint64_t offset_bytes, uint64_t expected_bytes, uint64_t moved_bytes);

// Opening, creating or removing failed, before or outside a step: kInvalidArgument where the path is wrong, else kIo.
// `what` is "cannot create the swap file".
Error FileError(std::string_view what, const std::string& path, int error_number);

}  // namespace tidemill::io
