// Machines that give less than a run asks for: an error with both figures, never a signal.
#include "tests/tools/resource_limit.h"

#include <sys/resource.h>

#include "tests/tools/run_fixture.h"

namespace tidemill::tools {
namespace {

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they reserve address space by terabytes
TEST_F(RunTest, BudgetsBeyondTheMachineAreStatus3WithWhatIsNeededAndWhatIsThere) {
  std::ofstream rows(work_ + "/rows.jsonl");
  std::string ids = "1";
  for (int i = 1; i < 1024; ++i) ids += "," + std::to_string(i % 300);
  for (int row = 0; row < 64; ++row) rows << "{\"input_ids\":[" + ids + "]}\n";
  rows.close();
  const Words large{"--device",
                    "host:mem=100GiB",
                    "--host-memory",
                    "100GiB",
                    "--max-length",
                    "1024",
                    "--per-device-train-batch-size",
                    "64",
                    "--activation-checkpointing",
                    "false"};
  std::string text;
  int status = 0;
  {
    const ResourceLimit limit(RLIMIT_AS, rlim_t{512} << 20);
    status = Run(Train("a", 1, large), &text);
  }
  EXPECT_EQ(status, 3) << text;
  for (const char* const part : {"the run needs ", " of memory (device ", " are available: lower --device-memory"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  EXPECT_FALSE(fs::exists(out("a") + "/metrics.jsonl"));
}
#endif

}  // namespace
}  // namespace tidemill::tools
