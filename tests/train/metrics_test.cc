#include "train/metrics.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "train/progress.h"

namespace tidemill::train {
namespace {

class MetricsFileTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  void Put(const std::string& text) { std::ofstream(path_) << text; }
  std::string Contents() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }
  std::string path_ = ::testing::TempDir() + "metrics_test_" +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".jsonl";
};

TEST(Metrics, HaveEveryKeyOfTheInterface) {
  const auto object = nlohmann::json::parse(FormatStep({}));
  for (const char* key :
       {"step", "epoch", "loss", "grad_norm", "learning_rate", "skipped", "tokens", "supervised_tokens", "step_seconds",
        "tokens_per_second", "predicted_step_seconds", "bound", "peak_bytes", "moved_bytes", "busy_seconds"})
    EXPECT_TRUE(object.contains(key)) << key;
  for (const char* tier : {"device", "host", "nvme"}) EXPECT_TRUE(object["peak_bytes"].contains(tier)) << tier;
  for (const char* lane : {"upload", "download", "nvme_read", "nvme_write"}) {
    EXPECT_TRUE(object["moved_bytes"].contains(lane)) << lane;
    EXPECT_TRUE(object["busy_seconds"].contains(lane)) << lane;
  }
  EXPECT_TRUE(object["busy_seconds"].contains("compute") && object["busy_seconds"].contains("adam"));
}

TEST(Metrics, ReadBackTheVeryNumbers) {
  StepMetrics metrics;
  metrics.step = 7;
  metrics.loss = 0.1 + 0.2;
  metrics.grad_norm = static_cast<double>(1.0F / 3.0F);
  metrics.learning_rate = 4.9e-324;
  metrics.tokens = 1000;
  metrics.step_seconds = 0.5;
  metrics.moved_bytes = {1, 2, (1ULL << 53) + 1, 0};
  metrics.bound = "nvme_read";
  const auto object = nlohmann::json::parse(FormatStep(metrics));
  EXPECT_EQ(object["loss"].get<double>(), 0.1 + 0.2);
  EXPECT_EQ(object["grad_norm"].get<float>(), 1.0F / 3.0F);
  EXPECT_EQ(object["learning_rate"].get<double>(), 4.9e-324);
  EXPECT_EQ(object["tokens_per_second"].get<double>(), 2000);
  EXPECT_EQ(object["moved_bytes"]["nvme_read"].get<uint64_t>(), (1ULL << 53) + 1);
  EXPECT_EQ(object["bound"], "nvme_read");
}

TEST(Metrics, WriteNullForWhatIsNotThereOrNotFinite) {
  StepMetrics metrics;
  metrics.loss = std::numeric_limits<double>::quiet_NaN();
  const auto object = nlohmann::json::parse(FormatStep(metrics));
  EXPECT_TRUE(object["loss"].is_null());
  EXPECT_TRUE(object["grad_norm"].is_null());
  EXPECT_TRUE(object["bound"].is_null());
  EXPECT_TRUE(object["peak_bytes"]["nvme"].is_null());
}

TEST(Metrics, NameOtherFiguresOfAStep) {
  EXPECT_EQ(FormatFigures(3, 0.5, {{"eval_loss", 2.5}}), R"({"step":3,"epoch":0.5,"eval_loss":2.5})");
}

TEST_F(MetricsFileTest, GrowsByWholeLinesThatAreThereAtOnce) {
  auto file = MetricsFile::Open(path_, false);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  ASSERT_TRUE(file->Append("{\"step\":1}").has_value());
  EXPECT_EQ(Contents(), "{\"step\":1}\n");
  ASSERT_TRUE(file->Append("{\"step\":2}").has_value());
  EXPECT_EQ(Contents(), "{\"step\":1}\n{\"step\":2}\n");
}

TEST_F(MetricsFileTest, StartsAnewUnlessResumed) {
  Put("old\n");
  ASSERT_TRUE(MetricsFile::Open(path_, true)->Append("new").has_value());
  EXPECT_EQ(Contents(), "old\nnew\n");
  ASSERT_TRUE(MetricsFile::Open(path_, false)->Append("newer").has_value());
  EXPECT_EQ(Contents(), "newer\n");
}

TEST_F(MetricsFileTest, CutsATornLastLineFirst) {
  Put("{\"step\":1}\n{\"step\":2}\n{\"st");
  ASSERT_TRUE(MetricsFile::Open(path_, true)->Append("{\"step\":3}").has_value());
  EXPECT_EQ(Contents(), "{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n");
  Put("whole\n" + std::string(10'000, 'x'));  // longer than what is read at a time
  ASSERT_TRUE(MetricsFile::Open(path_, true).has_value());
  EXPECT_EQ(Contents(), "whole\n");
  Put("only a torn line");
  ASSERT_TRUE(MetricsFile::Open(path_, true).has_value());
  EXPECT_EQ(Contents(), "");
}

TEST(Metrics, NameThePathThatCannotBeWritten) {
  const auto missing = MetricsFile::Open("no/such/folder/metrics.jsonl", false);
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().message.find("no/such/folder/metrics.jsonl"), std::string::npos);
  auto full = MetricsFile::Open("/dev/full", false);
  ASSERT_TRUE(full.has_value());
  const auto status = full->Append("x");
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kNoSpace);
}

std::string Shown(ProgressStyle style) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* out = open_memstream(&text, &size);
  {
    Progress progress(out, style, 4);
    progress.Step(1, 90, "loss 2.00", false);
    progress.Step(2, 90, "loss 1.00", true);
    progress.Note("saved");
  }
  std::fclose(out);
  std::string shown(text, size);
  std::free(text);
  return shown;
}

TEST(Progress, IsPlainLinesOffATerminal) { EXPECT_EQ(Shown({}), "step 2/4  loss 1.00  3:00 left\nsaved\n"); }

TEST(Progress, IsABarOfOneLineOnATerminal) {
  const std::string shown = Shown({.terminal = true, .color = false, .columns = 40});
  EXPECT_NE(shown.find("\r\033[K[=====               ] step 1/4  loss "), std::string::npos) << shown;
  EXPECT_TRUE(shown.ends_with("\r\033[Ksaved\n")) << shown;
  EXPECT_EQ(shown.find("\033[2m"), std::string::npos);
  EXPECT_NE(Shown({.terminal = true, .color = true, .columns = 40}).find("\033[2m"), std::string::npos);
}

TEST(Progress, WritesDurationsForPeople) {
  EXPECT_EQ(FormatDuration(0), "0:00");
  EXPECT_EQ(FormatDuration(123), "2:03");
  EXPECT_EQ(FormatDuration(3723), "1:02:03");
  EXPECT_EQ(FormatDuration(86400 * 3 + 4 * 3600), "3 d 4 h");
}

}  // namespace
}  // namespace tidemill::train
