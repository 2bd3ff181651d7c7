#include "train/output_lock.h"

#include "tests/train/golden_run.h"

namespace tidemill::train {
namespace {

TEST(OutputLock, KeepsASecondRunOutOfTheFolderUntilTheFirstIsDone) {
  const GoldenRun run("llama_gqa_tied_f32");
  std::filesystem::create_directories(run.output());
  {
    const auto lock = OutputLock::Take(run.output());
    ASSERT_TRUE(lock.has_value());
    const RunResult refused = run.Train({{"max-steps", "1"}}, false);
    ASSERT_FALSE(refused.status.has_value());
    EXPECT_EQ(refused.status.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(refused.status.error().message.find("in use by another run"), std::string::npos);
    EXPECT_TRUE(std::filesystem::is_empty(run.output()));
  }
  EXPECT_TRUE(run.Train({{"max-steps", "1"}}, false).status.has_value());
  EXPECT_TRUE(OutputLock::Take(run.output()).has_value());
}

}  // namespace
}  // namespace tidemill::train
