// How the swap directories share the pages: by the speed that is known or measured of each, and by its free space.
//
// One directory takes everything, and nothing is measured. Of several without known speeds each is measured for a
// moment (io/storage_speed.h), in the swap file's place, before any page is there.
//
//   Threads   one at a time, before the first transfer.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/storage_speed.h"
#include "io/swap_directory.h"
#include "offload/stripe_layout.h"

namespace tidemill::offload {

inline constexpr const char* kSwapFileName = "swap.bin";

// `speeds`: of each directory, as a profile has them; empty, or 0 for a directory of which nothing is known: all are
// measured. With several directories `notes` receives a line that says their shares. kDoesNotFit, naming each directory
// and what is free there: they are too small together. Measuring: kIo, kStorage, kNoSpace, kUnavailable.
Result<StripeLayout> PlanStripes(std::span<const StripePage> pages, std::span<const io::SwapDirectory> directories,
                                 std::span<const io::StorageSpeed> speeds, io::EngineChoice engine,
                                 std::vector<std::string>& notes);

}  // namespace tidemill::offload
