// The program: finds the subcommand, parses its flags, runs it, and ends with the status of tools/exit_code.h.
#include <fcntl.h>
#include <signal.h>

#include <array>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "tools/commands.h"
#include "tools/exit_code.h"
#include "tools/help.h"
#include "train/signals.h"

namespace tidemill::tools {
namespace {

constexpr const Command* kCommands[] = {
    &kBenchAdam, &kBenchIo, &kTrain, &kPlan, &kEval, &kGenerate, &kExport, &kImport, &kInfo, &kTokenize, &kTune,
};

// What the interface names; those without a row above are not built yet.
constexpr std::string_view kNames[] = {"train", "plan", "eval",   "generate", "tokenize", "bench",
                                       "tune",  "info", "export", "import",   "report"};
constexpr std::string_view kBenches[] = {"io", "pcie", "adam", "compute"};

int Report(const Error& error) {
  std::string line = error.message;
  for (char& c : line) {
    if (c == '\n' || c == '\r') c = ' ';  // an error is one line, whatever a file name holds
  }
  std::fprintf(stderr, "tidemill: error: %s\n", line.c_str());
  return ExitCode(error.code, train::StopSignal());
}

int Usage(std::string message) { return Report(Error{ErrorCode::kInvalidArgument, std::move(message)}); }

// Results may have been buffered for a disk or a pipe that does not take them.
int PrintAndFlush(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  return Report(Error{ErrorCode::kIo, "cannot write the results (standard output): check the disk or the pipe"});
}

int RunCommand(const Command& command, std::span<const std::string> words) {
  const auto aliases = command.aliases == nullptr ? std::span<const train::FlagAlias>() : command.aliases();
  const auto flags = Flags::Parse(command.flags(), words, aliases);
  if (!flags.has_value()) return Report(flags.error());
  if (flags->help()) return PrintAndFlush(CommandHelp(command));
  if (flags->positionals().size() > command.positionals_max)
    return Usage("unexpected argument '" + flags->positionals()[command.positionals_max] + "': see tidemill " +
                 std::string(command.name) + " --help");
  const Status status = command.run(*flags);
  if (!status.has_value()) {
    std::fflush(stdout);
    return Report(status.error());
  }
  return PrintAndFlush("");
}

int NoSuchCommand(std::string_view name, std::span<const std::string_view> names, std::string_view family) {
  for (const std::string_view known : names) {
    if (known == name) return Usage(std::string(family) + std::string(name) + " is not available in this build");
  }
  const std::string nearest = train::NearestName(name, names);
  return Usage("unknown command '" + std::string(family) + std::string(name) +
               "': " + (nearest.empty() ? "see tidemill --help" : "did you mean " + std::string(family) + nearest));
}

int Main(const std::vector<std::string>& words) {
  if (words.empty()) {
    std::fputs(ProgramHelp(kCommands, "").c_str(), stderr);
    return kExitUsage;
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") return PrintAndFlush(ProgramHelp(kCommands, ""));
  if (words[0] == "--version") return PrintAndFlush("tidemill " TIDEMILL_VERSION "\n");
  const std::string pair = words.size() > 1 ? words[0] + " " + words[1] : words[0];
  for (const Command* command : kCommands) {
    if (command->name == words[0]) return RunCommand(*command, std::span(words).subspan(1));
    if (command->name == pair) return RunCommand(*command, std::span(words).subspan(2));
  }
  if (words[0] != "bench") return NoSuchCommand(words[0], kNames, "");
  if (words.size() == 1) return Usage("bench needs to know what to measure: one of io, pcie, adam, compute");
  if (words[1] == "--help" || words[1] == "-h") return PrintAndFlush(ProgramHelp(kCommands, "bench"));
  return NoSuchCommand(words[1], kBenches, "bench ");
}

}  // namespace
}  // namespace tidemill::tools

int main(int argc, char** argv) {
  // A file must never get the number of a stream that is closed: progress would be printed into it. What is opened
  // here fails when it is used, as a closed stream does.
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) == -1) open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);  // takes the lowest free number
  }
  // A file size limit is then a failed write, which names the file, instead of a dead process.
  signal(SIGXFSZ, SIG_IGN);
  // Our code throws nothing; the standard library does when memory runs out.
  try {
    return tidemill::tools::Main({argv + 1, argv + argc});
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "tidemill: error: out of memory or of another resource (%s): give it more\n",
                 exception.what());
    return 1;
  }
}
