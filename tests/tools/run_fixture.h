// Runs of the built program on a tiny model, with a swap directory, in a folder of the test's own.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/tools/child_program.h"

namespace tidemill::tools {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

inline Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class RunTest : public testing::Test {
 protected:
  void SetUp() override {
    work_ = fs::canonical(testing::TempDir()).string() + "/run_test_" +
            testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(work_);
    fs::create_directories(swap());
    std::ofstream rows(work_ + "/rows.jsonl");
    for (int row = 0; row < 8; ++row) rows << "{\"input_ids\":[1,2," << row + 3 << ",4,5,6,7,8,9,10,11,12]}\n";
  }
  void TearDown() override { fs::remove_all(work_); }

  std::string swap() const { return work_ + "/swap"; }
  std::string swap_file() const { return swap() + "/tidemill-swap.bin"; }
  std::string out(const std::string& run = "a") const { return work_ + "/" + run; }

  Words Train(const std::string& run, int steps, const Words& more = {}) const {
    return Words{"train",
                 "--model",
                 std::string(TIDEMILL_SOURCE_DIR) + "/tests/golden/models/llama_gqa_tied_f32",
                 "--train-data",
                 work_ + "/rows.jsonl",
                 "--output-dir",
                 out(run),
                 "--max-steps",
                 std::to_string(steps),
                 "--threads",
                 "1",
                 "--host-memory",
                 "64MiB",
                 "--device",
                 "host:mem=64MiB",
                 "--dtype",
                 "fp32"} +
           more;
  }
  // With everything on nvme, slow enough to be met while it runs.
  Words SlowTrain(const std::string& run, const Words& more = {}) const {
    return Train(run, 2000, OnNvme()) + Words{"--device", "host:mem=64MiB,nvme-write=30MB/s"} + more;
  }
  Words OnNvme() const {
    return {"--swap-dir", swap(), "--place-params", "nvme", "--place-optimizer", "nvme", "--place-gradients", "nvme"};
  }

  static int Run(const Words& words, std::string* text = nullptr) {
    ChildProgram program(words);
    const int status = program.Wait();
    if (text != nullptr) *text = program.text();
    return status;
  }

  int NewestCheckpoint(const std::string& run) const {
    int newest = -1;
    for (const auto& entry : fs::directory_iterator(out(run))) {
      const std::string name = entry.path().filename();
      EXPECT_EQ(name.find(".partial"), std::string::npos) << name;
      if (name.starts_with("checkpoint-")) newest = std::max(newest, std::stoi(name.substr(11)));
    }
    return newest;
  }

  std::string work_;
};

}  // namespace tidemill::tools
