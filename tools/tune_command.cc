// `tidemill tune`: finds out how the swap directories are used best, and writes what plan and train believe.
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/byte_size.h"
#include "io/tune.h"
#include "tools/commands.h"
#include "tools/host_rates.h"
#include "tools/tune_report.h"
#include "train/signals.h"

namespace tidemill::tools {
namespace {

constexpr FlagSpec kFlags[] = {
    {"swap-dir", FlagKind::kPaths, "", "directories to measure: each alone, and all together"},
    {"output", FlagKind::kPath, "", "the profile to write, for plan and train --io-profile"},
    {"quick", FlagKind::kBool, "false", "under a minute, with a coarser grid; else about twelve"},
    {"size", FlagKind::kSize, "auto",
     "bytes of the file DIR/tidemill-bench.bin: used if it is there, else made for the time; auto: 4GiB, 512MiB if "
     "quick",
     "auto"},
    {"json", FlagKind::kBool, "false", "print one JSON object"},
};

constexpr double kQuickSeconds = 48, kSeconds = 700;  // of the drives' part

// Better refused now than after the measuring.
Status CheckOutput(const std::string& output) {
  if (output.empty())
    return Fail(ErrorCode::kInvalidArgument, "tune needs a file to write its profile to: pass --output profile.json");
  const std::filesystem::path parent = std::filesystem::path(output).parent_path();
  if (::access(parent.empty() ? "." : parent.c_str(), W_OK | X_OK) != 0)
    return Fail(ErrorCode::kInvalidArgument, "cannot write the profile (" + output +
                                                 "): pass an --output in a folder that is there "
                                                 "and writable");
  if (std::filesystem::is_directory(output))
    return Fail(ErrorCode::kInvalidArgument, "--output is a folder (" + output + "): name a file in it");
  return Ok();
}

Result<io::TuneRequest> ParseRequest(const Flags& flags) {
  io::TuneRequest request;
  request.directories = flags.Texts("swap-dir");
  if (request.directories.empty())
    return Fail(ErrorCode::kInvalidArgument, "tune needs a directory to measure: pass --swap-dir DIR");
  TM_RETURN_IF_ERROR(CheckOutput(flags.Text("output")));
  request.quick = flags.Bool("quick");
  request.budget_seconds = request.quick ? kQuickSeconds : kSeconds;
  const uint64_t bytes = flags.MaybeBytes("size").value_or(request.quick ? 512 * kMiB : 4 * kGiB);
  request.file_bytes = bytes / io::kAlignmentBytes * io::kAlignmentBytes;
  if (request.file_bytes == 0) return Fail(ErrorCode::kInvalidArgument, "--size is at least 4096 bytes");
  request.stop = [] { return train::StopRequested(); };
  request.say = [](const std::string& line) { std::fprintf(stderr, "tidemill: %s\n", line.c_str()); };
  return request;
}

Status Run(const Flags& flags) {
  TM_ASSIGN_OR_RETURN(const io::TuneRequest request, ParseRequest(flags));
  train::InstallSignalHandlers();
  TM_ASSIGN_OR_RETURN(const io::TuneResult tuned, io::TuneDirectories(request));
  request.say("measuring memory, Adam and compute");
  TM_ASSIGN_OR_RETURN(const HostRates host, MeasureHost(request.quick, request.stop));
  const train::IoProfile profile = MakeProfile(tuned, host);
  TM_RETURN_IF_ERROR(train::CheckNotStopped());
  TM_RETURN_IF_ERROR(WriteFileAtomically(flags.Text("output"), FormatIoProfile(profile)));
  request.say("wrote " + flags.Text("output"));
  std::printf("%s", flags.Bool("json") ? (TuneJson(tuned, profile) + "\n").c_str() : TuneText(tuned, profile).c_str());
  return Ok();
}

}  // namespace

const Command kTune{"tune",
                    "--swap-dir DIR... --output profile.json [flags]",
                    "Measure swap directories and machine for plan and train.",
                    [] { return std::span<const FlagSpec>(kFlags); },
                    0,
                    Run};

}  // namespace tidemill::tools
