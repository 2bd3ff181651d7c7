// The built program as a user meets it: exit status, one error line, what goes where.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/tools/run_program.h"
#include "tools/exit_code.h"

namespace tidemill::tools {
namespace {

TEST(Program, AnswersHelpAndVersionOnStdout) {
  EXPECT_EQ(RunProgram("--version 2>/dev/null").text.substr(0, 9), "tidemill ");
  const Outcome help = RunProgram("--help 2>/dev/null");
  EXPECT_EQ(help.status, 0);
  EXPECT_NE(help.text.find("info"), std::string::npos);
  const Outcome of_command = RunProgram("info --help 2>/dev/null");
  EXPECT_EQ(of_command.status, 0);
  EXPECT_NE(of_command.text.find("--json"), std::string::npos);
}

TEST(Program, RefusesUnknownNamesWithTheNearest) {
  const Outcome command = RunProgram("trian 2>&1 >/dev/null");
  EXPECT_EQ(command.status, 2);
  EXPECT_EQ(command.text, "tidemill: error: unknown command 'trian': did you mean train\n");
  const Outcome flag = RunProgram("info --jsn 2>&1 >/dev/null");
  EXPECT_EQ(flag.status, 2);
  EXPECT_EQ(flag.text, "tidemill: error: unknown flag --jsn: did you mean --json\n");
  EXPECT_EQ(RunProgram("info stray 2>/dev/null").status, 2);
  EXPECT_EQ(RunProgram("2>/dev/null").status, 2);
}

TEST(Program, NamesCommandsThatAreNotBuilt) {
  for (const char* name : {"report", "bench pcie", "bench compute"}) {
    const Outcome outcome = RunProgram(std::string(name) + " 2>&1 >/dev/null");
    EXPECT_EQ(outcome.status, 2) << name;
    EXPECT_EQ(outcome.text, "tidemill: error: " + std::string(name) + " is not available in this build\n");
  }
}

TEST(Program, KeepsAnErrorOnOneLineWhateverAFileIsCalled) {
  const Outcome outcome = RunProgram("info --model \"$(printf 'no\\nsuch')\" 2>&1 >/dev/null");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.text.find('\n'), outcome.text.size() - 1) << outcome.text;
}

TEST(Program, PrintsNoProgressIntoAFileWhenTheStreamsAreClosed) {
  const std::string work = testing::TempDir() + "/program_test_closed";
  std::filesystem::remove_all(work);
  std::filesystem::create_directories(work);
  std::ofstream(work + "/rows.jsonl") << "{\"input_ids\":[1,2,3]}\n";
  const std::string model = std::string(TIDEMILL_SOURCE_DIR) + "/tests/golden/models/llama_gqa_tied_f32";
  EXPECT_EQ(RunProgram("train --model " + model + " --train-data " + work + "/rows.jsonl --output-dir " + work +
                       "/out --max-steps 2 --device cpu --threads 1 0<&- 1>&- 2>&-")
                .status,
            0);
  std::ifstream metrics(work + "/out/metrics.jsonl");
  int lines = 0;
  for (std::string line; std::getline(metrics, line); ++lines) EXPECT_TRUE(line.starts_with("{\"step\"")) << line;
  EXPECT_EQ(lines, 2);
  std::filesystem::remove_all(work);
}

TEST(Program, FailsWhenItsResultsCannotBeWritten) {
  const Outcome outcome = RunProgram("info 2>&1 >/dev/full");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.text.find("standard output"), std::string::npos) << outcome.text;
}

// A path that is wrong is a usage error wherever it is given, and a swap directory that is missing may be a drive that
// is not mounted: it is not made.
TEST(Program, EndsWithTwoWhenAFileOrADirectoryIsMissing) {
  const std::string work = testing::TempDir() + "/program_test_missing";
  std::filesystem::remove_all(work);
  std::filesystem::create_directories(work);
  std::ofstream(work + "/rows.jsonl") << "{\"input_ids\":[1,2,3]}\n";
  std::ofstream(work + "/text.jsonl") << "{\"text\":\"tide\"}\n";
  const std::string model = " --model " + std::string(TIDEMILL_SOURCE_DIR) + "/tests/golden/models/llama_gqa_tied_f32";
  const std::string rows = " --train-data " + work + "/rows.jsonl", out = " --output-dir " + work + "/out";
  const std::string none = work + "/none", file = work + "/rows.jsonl/none";
  for (const std::string& arguments :
       {"train --model " + none + rows + out, "train" + model + " --train-data " + none + ".jsonl" + out,
        "train" + model + " --train-data " + none + ".txt" + out, "train" + model + rows + out + " --config " + none,
        "train" + model + " --train-data " + work + "/text.jsonl" + out,  // the model has no tokenizer.json
        "train" + model + " --train-data " + work + out, "train" + model + rows + " --output-dir " + file,
        "train" + model + rows + out + " --max-steps 1 --place-params nvme --swap-dir " + none,
        "train" + model + rows + out + " --max-steps 1 --place-params nvme --swap-dir " + file,
        "eval" + model + " --eval-data " + none, "generate" + model + " --prompt tide", "plan --model " + none,
        "tokenize --model " + none + " </dev/null", "info --model " + none,
        "import " + none + " --output " + work + "/i",
        "export --checkpoint " + none + " --output-dir " + work + "/e"}) {
    const Outcome outcome = RunProgram(arguments + " 2>&1 >/dev/null");
    EXPECT_EQ(outcome.status, 2) << arguments << "\n" << outcome.text;
    EXPECT_NE(outcome.text.find("tidemill: error: "), std::string::npos) << arguments << "\n" << outcome.text;
  }
  EXPECT_FALSE(std::filesystem::exists(none));
  std::filesystem::remove_all(work);
}

TEST(ExitCode, IsTheInterfacesForEveryError) {
  EXPECT_EQ(ExitCode(ErrorCode::kInvalidArgument, 0), 2);
  EXPECT_EQ(ExitCode(ErrorCode::kIo, 0), 1);
  EXPECT_EQ(ExitCode(ErrorCode::kUnavailable, 0), 1);
  EXPECT_EQ(ExitCode(ErrorCode::kDoesNotFit, 0), 3);
  EXPECT_EQ(ExitCode(ErrorCode::kNoSpace, 0), 4);
  EXPECT_EQ(ExitCode(ErrorCode::kStorage, 0), 4);
  EXPECT_EQ(ExitCode(ErrorCode::kCorrupt, 0), 4);
  EXPECT_EQ(ExitCode(ErrorCode::kNotFinite, 0), 5);
  EXPECT_EQ(ExitCode(ErrorCode::kInterrupted, 2), 130);
  EXPECT_EQ(ExitCode(ErrorCode::kInterrupted, 15), 143);
}

}  // namespace
}  // namespace tidemill::tools
