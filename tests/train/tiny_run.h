// A tiny model of odd sizes, made from a seed and changed as a test likes, and the jobs run over it in this process.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "data/safetensors_reader.h"
#include "data/safetensors_writer.h"
#include "model/tensors.h"
#include "tests/data/tokenizer_fixture.h"
#include "tests/train/golden_run.h"

namespace tidemill::train {

using Flags = std::vector<std::pair<std::string, std::string>>;

inline Flags operator+(Flags flags, const Flags& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

// Hardly a tensor is a multiple of 512 or 4096 bytes.
inline nlohmann::json TinyConfig() {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"hidden_size", 48},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 4},
          {"num_key_value_heads", 2},
          {"head_dim", 12},
          {"intermediate_size", 80},
          {"vocab_size", 300},
          {"max_position_embeddings", 128},
          {"rms_norm_eps", 1e-5},
          {"rope_theta", 10000.0},
          {"hidden_act", "silu"},
          {"tie_word_embeddings", false},
          {"eos_token_id", 2},
          {"torch_dtype", "float32"}};
}

struct TinyTensor {
  data::TensorSpec spec;
  std::vector<float> values;
};

struct TinyModel {
  nlohmann::json config;
  std::vector<TinyTensor> tensors;  // as config.json describes them; a test may change, add or take away

  explicit TinyModel(nlohmann::json settings = TinyConfig(), DType dtype = DType::kF32) : config(std::move(settings)) {
    if (config.contains("torch_dtype")) config["torch_dtype"] = TorchName(dtype);
    const auto parsed = model::ParseModelConfig(config.dump(), "tiny");
    EXPECT_TRUE(parsed.has_value()) << parsed.error().message;
    std::vector<model::TensorInfo> infos{model::EmbeddingTensor(*parsed)};
    for (int64_t layer = 0; layer < parsed->layers; ++layer) {
      for (const auto& info : model::LayerTensors(*parsed, layer)) infos.push_back(info);
    }
    infos.push_back(model::FinalNormTensor(*parsed));
    if (!parsed->tied) infos.push_back(model::HeadTensor(*parsed));
    uint32_t state = 12345;
    for (const auto& info : infos) {
      const auto rows = static_cast<uint64_t>(info.rows), cols = static_cast<uint64_t>(info.cols);
      TinyTensor tensor{{info.name, dtype, info.matrix ? std::vector{rows, cols} : std::vector{rows}}, {}};
      for (uint64_t i = 0; i < rows * cols; ++i) {
        state = state * 1664525U + 1013904223U;
        const float value = static_cast<float>(static_cast<int>(state >> 16) - 32768) / 32768.0F;  // in [-1, 1)
        const float placed = info.matrix ? 0.2F * value : 1.0F + 0.1F * value;
        tensor.values.push_back(info.name.ends_with(".bias") ? 0.1F * value : placed);
      }
      tensors.push_back(std::move(tensor));
    }
  }

  TinyTensor& operator[](const std::string& name) {
    for (TinyTensor& tensor : tensors) {
      if (tensor.spec.name == name) return tensor;
    }
    ADD_FAILURE() << "no tensor " << name;
    return tensors.front();
  }
  uint64_t parameters() const {
    uint64_t count = 0;
    for (const TinyTensor& tensor : tensors) count += tensor.values.size();
    return count;
  }
};

inline TinyModel TiedTinyModel() {
  auto config = TinyConfig();
  config["tie_word_embeddings"] = true;
  return TinyModel(config);
}

// Sequences of unequal length; the first `masked` labels of each are not supervised.
inline nlohmann::json TinyRow(int seed, int length, int masked) {
  std::vector<int> ids, labels;
  for (int i = 0; i < length; ++i) {
    ids.push_back((seed * 97 + i * 31 + i * i * 7) % 300);
    labels.push_back(i < masked ? -100 : ids.back());
  }
  return {{"input_ids", ids}, {"labels", labels}};
}

class TinyRun {
 public:
  TinyRun() {
    const auto* const info = testing::UnitTest::GetInstance()->current_test_info();
    work_ = testing::TempDir() + "/tiny_run_" + info->test_suite_name() + "_" + info->name() + "_" +
            std::to_string(getpid());
    std::filesystem::remove_all(work_);
    std::filesystem::create_directories(swap());
    std::filesystem::create_directories(model());
    WriteRows({TinyRow(1, 12, 1), TinyRow(2, 7, 3), TinyRow(3, 17, 2), TinyRow(4, 5, 1)});
  }
  ~TinyRun() { std::filesystem::remove_all(work_); }

  std::string model() const { return work_ + "/model"; }
  std::string output() const { return work_ + "/out"; }
  std::string swap() const { return work_ + "/swap"; }
  std::string rows() const { return work_ + "/rows.jsonl"; }
  std::string work() const { return work_; }

  static void Write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

  void WriteModel(const TinyModel& tiny) const {
    Write(model() + "/config.json", tiny.config.dump(2));
    std::vector<data::TensorSpec> specs;
    for (const TinyTensor& tensor : tiny.tensors) specs.push_back(tensor.spec);
    auto writer = data::SafetensorsWriter::Create(model() + "/model.safetensors", specs);
    ASSERT_TRUE(writer.has_value()) << writer.error().message;
    for (const TinyTensor& tensor : tiny.tensors) ASSERT_TRUE(writer->AppendFloats(tensor.values).has_value());
    ASSERT_TRUE(writer->Commit().has_value());
  }

  void WriteTokenizer(const data::TinySpec& spec = {}) const {
    Write(model() + "/tokenizer.json", data::TinyJson(spec));
  }

  void WriteRows(const std::vector<nlohmann::json>& lines) const {
    std::string text;
    for (const auto& line : lines) text += line.dump() + "\n";
    Write(rows(), text);
  }

  // Trains one step on all rows at once, unless told otherwise.
  RunResult Train(const Flags& extra = {}, bool fresh = true) const {
    if (fresh) std::filesystem::remove_all(output());
    const auto config = Parse(RunKind::kTrain, TrainFlags() + extra);
    if (!config.has_value()) return {tl::make_unexpected(config.error()), {}, {}};
    RunResult result{train::Train(*config), {}, {}};
    std::istringstream lines(GoldenRun::Read(output() + "/metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const auto json = nlohmann::json::parse(line);
      if (json.contains("loss")) result.steps.push_back(json);
    }
    result.weights = GoldenRun::Read(output() + "/model.safetensors");
    return result;
  }

  Result<EvalReport> Eval(const Flags& extra = {}) const {
    TM_ASSIGN_OR_RETURN(
        const EvalOptions options,
        ParseEvalOptions(FlagSet(RunFlags(RunKind::kEval), Values(Common() + Flags{{"eval-data", rows()}} + extra))));
    return Evaluate(options);
  }

  Result<PlanReport> Plan(const Flags& extra = {}) const {
    TM_ASSIGN_OR_RETURN(const PlanOptions options,
                        ParsePlanOptions(FlagSet(RunFlags(RunKind::kPlan), Values(Common() + extra))));
    return PlanRun(options);
  }

  // The pieces, as they came.
  Result<std::vector<std::string>> Generate(const std::string& prompt, const Flags& extra = {}) const {
    TM_ASSIGN_OR_RETURN(const GenerateOptions options,
                        ParseGenerateOptions(FlagSet(RunFlags(RunKind::kGenerate),
                                                     Values(Common() + Flags{{"prompt", prompt}} + extra))));
    std::vector<std::string> pieces;
    TM_RETURN_IF_ERROR(train::Generate(options, [&](std::string_view piece) { pieces.emplace_back(piece); }));
    return pieces;
  }

  Flags Everywhere(const std::string& tier) const {
    return {{"swap-dir", swap()},
            {"place-params", tier},
            {"place-optimizer", tier},
            {"place-gradients", tier},
            {"place-activations", tier}};
  }

  static std::map<std::string, std::vector<float>> ReadTensors(const std::string& path) {
    std::map<std::string, std::vector<float>> tensors;
    const auto reader = data::SafetensorsReader::Open(path);
    EXPECT_TRUE(reader.has_value()) << reader.error().message;
    if (!reader.has_value()) return tensors;
    for (const data::TensorEntry& entry : reader->tensors()) {
      auto& values = tensors[entry.name];
      values.resize(entry.elements);
      EXPECT_TRUE(reader->ReadAsFloat(entry, 0, values).has_value());
    }
    return tensors;
  }
  std::map<std::string, std::vector<float>> Weights() const { return ReadTensors(output() + "/model.safetensors"); }

 private:
  static std::vector<FlagValue> Values(const Flags& flags) {
    std::vector<FlagValue> values;
    for (const auto& [name, value] : flags) values.push_back({name, value});
    return values;
  }
  static Result<RunConfig> Parse(RunKind kind, const Flags& flags) {
    return ParseRunConfig(kind, FlagSet(RunFlags(kind), Values(flags)));
  }
  Flags Common() const {
    return {{"model", model()},
            {"device", "host:mem=64MiB"},
            {"host-memory", "64MiB"},
            {"threads", "2"},
            {"dtype", "fp32"}};
  }
  // An epsilon far above rounding: the update is a smooth function of the gradient.
  Flags TrainFlags() const {
    return Common() + Flags{{"train-data", rows()},   {"output-dir", output()},
                            {"max-steps", "1"},       {"per-device-train-batch-size", "4"},
                            {"shuffle", "false"},     {"learning-rate", "1e-2"},
                            {"adam-epsilon", "1e-4"}, {"lr-scheduler-type", "constant"},
                            {"save-strategy", "no"}};
  }

  std::string work_;
};

// Every tensor of both, to `tolerance` of the larger of one and the value.
inline void ExpectNear(const std::map<std::string, std::vector<float>>& a,
                       const std::map<std::string, std::vector<float>>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, values] : a) {
    const auto& others = b.at(name);
    ASSERT_EQ(values.size(), others.size()) << name;
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_NEAR(values[i], others[i], tolerance * std::max(1.0F, std::abs(values[i]))) << name << " " << i;
  }
}

inline double Loss(const RunResult& result, size_t step = 0) { return result.steps.at(step)["loss"].get<double>(); }
inline double Norm(const RunResult& result, size_t step = 0) {
  return result.steps.at(step)["grad_norm"].get<double>();
}

}  // namespace tidemill::train
