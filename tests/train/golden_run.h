// A whole training run over one of tests/golden/models, in this process, with any flags.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "train/config/run_config.h"
#include "train/jobs.h"

namespace tidemill::train {

struct RunResult {
  Status status;
  std::vector<nlohmann::json> steps;  // the lines of metrics.jsonl that have a loss
  std::string weights;                // bytes of model.safetensors
};

class GoldenRun {
 public:
  explicit GoldenRun(const std::string& model)
      : model_(std::string(TIDEMILL_SOURCE_DIR) + "/tests/golden/models/" + model) {
    golden_ = nlohmann::json::parse(Read(model_ + "/golden.json"));
    const auto* const info = testing::UnitTest::GetInstance()->current_test_info();
    work_ = testing::TempDir() + "/golden_run_" + info->name() + "_" + model + "_" + std::to_string(getpid());
    for (char& c : work_) c = c == ' ' ? '_' : c;
    std::filesystem::remove_all(work_);
    std::filesystem::create_directories(swap());
    WriteRows();
  }
  ~GoldenRun() { std::filesystem::remove_all(work_); }

  const nlohmann::json& golden() const { return golden_; }
  std::string output() const { return work_ + "/out"; }
  std::string swap() const { return work_ + "/swap"; }
  std::string rows() const { return work_ + "/rows.jsonl"; }
  std::string model() const { return model_; }

  // Trains into output() with the golden recipe, `extra` flags last.
  RunResult Train(const std::vector<std::pair<std::string, std::string>>& extra, bool fresh = true) const {
    if (fresh) std::filesystem::remove_all(output());
    const auto config = Config(extra);
    if (!config.has_value()) return {tl::make_unexpected(config.error()), {}, {}};
    RunResult result{train::Train(*config), {}, {}};
    std::istringstream lines(Read(output() + "/metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const auto json = nlohmann::json::parse(line);
      if (json.contains("loss")) result.steps.push_back(json);
    }
    result.weights = Read(output() + "/model.safetensors");
    return result;
  }

  // The golden recipe, `extra` flags last.
  Result<RunConfig> Config(const std::vector<std::pair<std::string, std::string>>& extra) const {
    return ParseRunConfig(RunKind::kTrain, Flags(RunKind::kTrain, extra));
  }
  FlagSet Flags(RunKind kind, const std::vector<std::pair<std::string, std::string>>& extra) const {
    std::vector<FlagValue> values;
    for (const auto& [name, value] : Recipe()) values.push_back({name, value});
    for (const auto& [name, value] : extra) values.push_back({name, value});
    return FlagSet(RunFlags(kind), std::move(values));
  }

  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

 private:
  std::vector<std::pair<std::string, std::string>> Recipe() const {
    const auto& recipe = golden_["recipe"];
    return {{"model", model_},
            {"train-data", rows()},
            {"output-dir", output()},
            {"max-steps", std::to_string(recipe["steps"].get<int>())},
            {"per-device-train-batch-size", std::to_string(golden_["data"][0][0]["input_ids"].size())},
            {"gradient-accumulation-steps", std::to_string(recipe["accumulation"].get<int>())},
            {"shuffle", "false"},
            {"learning-rate", "1e-3"},
            {"lr-scheduler-type", "cosine"},
            {"warmup-steps", "2"},
            {"adam-beta2", "0.95"},
            {"weight-decay", "0.1"},
            {"max-grad-norm", "1"},
            {"device", "host:mem=256MiB"},
            {"host-memory", "256MiB"},
            {"threads", "2"},
            {"dtype", "fp32"},
            {"save-dtype", "fp32"},
            {"save-strategy", "no"}};
  }

  // A row for each sequence, right padding cut off: collating is the program's work.
  void WriteRows() const {
    std::ofstream file(rows());
    for (const auto& step : golden_["data"]) {
      for (const auto& micro : step) {
        for (size_t i = 0; i < micro["input_ids"].size(); ++i) {
          auto ids = micro["input_ids"][i].get<std::vector<int>>(), labels = micro["labels"][i].get<std::vector<int>>();
          size_t length = ids.size();
          if (micro.contains("attention_mask"))
            length = static_cast<size_t>(
                std::count(micro["attention_mask"][i].begin(), micro["attention_mask"][i].end(), 1));
          ids.resize(length);
          labels.resize(length);
          file << nlohmann::json{{"input_ids", ids}, {"labels", labels}}.dump() << "\n";
        }
      }
    }
  }

  std::string model_, work_;
  nlohmann::json golden_;
};

}  // namespace tidemill::train
