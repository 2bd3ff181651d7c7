// AdamW's moments in bf16 and int8, and the master in bf16, through whole runs: the same bits wherever and however they
// are stepped, resumed bit for bit, close to fp32, and as small as promised.
#include <gtest/gtest.h>

#include <cmath>

#include "cpu_adam/state_encoding.h"
#include "data/safetensors_reader.h"
#include "tests/train/golden_run.h"

namespace tidemill::train {
namespace {

using Flags = std::vector<std::pair<std::string, std::string>>;

Flags Joined(Flags flags, const Flags& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

void ExpectSameBits(const RunResult& a, const RunResult& b, const std::string& what) {
  ASSERT_TRUE(b.status.has_value()) << what << ": " << b.status.error().message;
  ASSERT_EQ(a.steps.size(), b.steps.size()) << what;
  for (size_t i = 0; i < a.steps.size(); ++i)
    EXPECT_EQ(a.steps[i]["loss"], b.steps[i]["loss"]) << what << ", step " << i + 1;
  EXPECT_TRUE(a.weights == b.weights) << what << ": the weights differ";
}

std::string OptimizerBytes(const GoldenRun& run, int step) {
  std::string bytes;
  for (const char* name : {"master", "exp_avg", "exp_avg_sq"})
    bytes +=
        GoldenRun::Read(run.output() + "/checkpoint-" + std::to_string(step) + "/optimizer/" + name + ".safetensors");
  return bytes;
}

struct Encoding {
  const char *state, *compute, *master;

  Flags All() const { return {{"state-dtype", state}, {"dtype", compute}, {"master-dtype", master}}; }
  bool ExactState() const { return state == std::string_view("fp32"); }
};

class EveryEncoding : public testing::TestWithParam<Encoding> {
 protected:
  Flags Common() const { return GetParam().All(); }
};

TEST_P(EveryEncoding, PlacementTilesAndThreadsNeverChangeABit) {
  const GoldenRun run("qwen2_bias_tied_bf16");
  const Flags common = Joined(Common(), {{"max-steps", "4"}});
  const RunResult automatic = run.Train(common);
  ASSERT_TRUE(automatic.status.has_value()) << automatic.status.error().message;
  ExpectSameBits(automatic, run.Train(Joined(common, {{"place-optimizer", "host"}, {"threads", "3"}})), "3 threads");
  ExpectSameBits(automatic, run.Train(Joined(common, {{"tile-size", "8KiB"}, {"threads", "1"}})), "small tiles");
  const Flags nvme{{"swap-dir", run.swap()}, {"place-optimizer", "nvme"}, {"place-params", "nvme"}};
  ExpectSameBits(automatic, run.Train(Joined(Joined(common, nvme), {{"tile-size", "12KiB"}})), "nvme");
  const Flags shares{{"swap-dir", run.swap()}, {"place-optimizer", "host=0.5,nvme"}, {"place-gradients", "host"}};
  ExpectSameBits(automatic, run.Train(Joined(common, shares)), "shares");
}

TEST_P(EveryEncoding, ResumesBitForBit) {
  const GoldenRun run("llama_gqa_tied_f32");
  const Flags saving = Joined(Common(), {{"save-strategy", "steps"}, {"save-steps", "5"}});
  const RunResult whole = run.Train(saving);
  ASSERT_TRUE(whole.status.has_value()) << whole.status.error().message;
  const std::string state_at_the_end = OptimizerBytes(run, 10);
  ASSERT_FALSE(state_at_the_end.empty());
  std::filesystem::remove_all(run.output() + "/checkpoint-10");
  const Flags elsewhere{{"swap-dir", run.swap()}, {"place-optimizer", "nvme"}, {"resume-from-checkpoint", "auto"}};
  ExpectSameBits(whole, run.Train(Joined(saving, elsewhere), false), "resumed");
  EXPECT_TRUE(OptimizerBytes(run, 10) == state_at_the_end) << "the optimizer's state differs";
}

TEST_P(EveryEncoding, StaysWithinAPercentOfFp32s) {
  const GoldenRun run("llama3_rope_bf16");
  const RunResult exact = run.Train({{"dtype", GetParam().compute}}), encoded = run.Train(Common());
  ASSERT_TRUE(exact.status.has_value() && encoded.status.has_value());
  ASSERT_EQ(exact.steps.size(), encoded.steps.size());
  for (size_t i = 0; i < exact.steps.size(); ++i) {
    const double loss = exact.steps[i]["loss"].get<double>();
    EXPECT_NEAR(encoded.steps[i]["loss"].get<double>() / loss, 1, 0.01) << "step " << i + 1;
  }
  EXPECT_FALSE(exact.weights == encoded.weights) << "nothing was encoded";
}

TEST_P(EveryEncoding, ContinuesARunOfFp32AndIsContinuedByOne) {
  const GoldenRun run("llama_gqa_tied_f32");
  const Flags dtype{{"dtype", GetParam().compute}}, saving{{"save-strategy", "steps"}, {"save-steps", "5"}},
      resuming{{"resume-from-checkpoint", "auto"}};
  const RunResult exact = run.Train(Joined(dtype, saving));
  ASSERT_TRUE(exact.status.has_value());
  for (const auto& [from, to] : {std::pair{dtype, Common()}, std::pair{Common(), dtype}}) {
    ASSERT_TRUE(run.Train(Joined(from, saving)).status.has_value());
    std::filesystem::remove_all(run.output() + "/checkpoint-10");
    testing::internal::CaptureStderr();
    const RunResult resumed = run.Train(Joined(to, resuming), false);
    const std::string said = testing::internal::GetCapturedStderr();
    ASSERT_TRUE(resumed.status.has_value()) << resumed.status.error().message;
    const std::string what = GetParam().ExactState() ? "the master's" : "the state's";
    EXPECT_NE(said.find(what + " dtype changes from"), std::string::npos) << said;
    ASSERT_EQ(resumed.steps.size(), exact.steps.size());
    EXPECT_NEAR(resumed.steps.back()["loss"].get<double>() / exact.steps.back()["loss"].get<double>(), 1, 0.01);
  }
}

TEST_P(EveryEncoding, IsNotSteppedOnTheDevice) {
  const GoldenRun run("llama_gqa_tied_f32");
  for (const char* place : {"device", "device=0.5,host"}) {
    const RunResult refused = run.Train(Joined(Common(), {{"place-optimizer", place}}));
    ASSERT_FALSE(refused.status.has_value()) << place;
    EXPECT_EQ(refused.status.error().code, ErrorCode::kInvalidArgument);
    for (const char* name : {"--place-optimizer", GetParam().ExactState() ? "--master-dtype" : "--state-dtype"})
      EXPECT_NE(refused.status.error().message.find(name), std::string::npos) << refused.status.error().message;
  }
}

INSTANTIATE_TEST_SUITE_P(, EveryEncoding,
                         testing::Values(Encoding{"bf16", "fp32", "fp32"}, Encoding{"bf16", "bf16", "fp32"},
                                         Encoding{"int8", "fp32", "fp32"}, Encoding{"int8", "bf16", "fp32"},
                                         Encoding{"fp32", "bf16", "bf16"}, Encoding{"int8", "bf16", "bf16"}),
                         [](const auto& tested) {
                           return std::string(tested.param.state) + "_state_" + tested.param.compute + "_compute_" +
                                  tested.param.master + "_master";
                         });

TEST(MasterDtype, Bf16NeedsBf16Compute) {
  const GoldenRun run("llama_gqa_tied_f32");
  const RunResult refused = run.Train({{"master-dtype", "bf16"}});
  ASSERT_FALSE(refused.status.has_value());
  EXPECT_EQ(refused.status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.status.error().message.find("give --dtype bf16"), std::string::npos);
}

TEST(MasterDtype, ACheckpointNamesItAndItsMasterIsWhatTheParameterSays) {
  const GoldenRun run("llama_gqa_tied_f32");
  const Flags flags{
      {"dtype", "bf16"}, {"master-dtype", "bf16"}, {"save-strategy", "steps"}, {"save-steps", "2"}, {"max-steps", "2"}};
  ASSERT_TRUE(run.Train(flags).status.has_value());
  const std::string folder = run.output() + "/checkpoint-2";
  EXPECT_EQ(nlohmann::json::parse(GoldenRun::Read(folder + "/trainer_state.json"))["master_dtype"], "bf16");
  const auto reader = data::SafetensorsReader::Open(folder + "/optimizer/master.safetensors");
  ASSERT_TRUE(reader.has_value());
  for (const data::TensorEntry& entry : reader->tensors()) {
    std::vector<float> values(entry.elements);
    ASSERT_TRUE(reader->ReadAsFloat(entry, 0, values).has_value());
    for (const float value : values) ASSERT_EQ(std::bit_cast<uint32_t>(value) & 0xffff, 0U) << entry.name;
  }
}

// What a checkpoint holds is fp32 under the tensors' names, and moments that the encoding can say.
TEST(StateDtype, CheckpointsHoldFp32) {
  const GoldenRun run("llama_gqa_tied_f32");
  const Flags flags{{"state-dtype", "bfloat16"}, {"save-strategy", "steps"}, {"save-steps", "2"}, {"max-steps", "2"}};
  ASSERT_TRUE(run.Train(flags).status.has_value());
  const std::string folder = run.output() + "/checkpoint-2";
  EXPECT_EQ(nlohmann::json::parse(GoldenRun::Read(folder + "/trainer_state.json"))["state_dtype"], "bf16");
  const auto reader = data::SafetensorsReader::Open(folder + "/optimizer/exp_avg_sq.safetensors");
  ASSERT_TRUE(reader.has_value());
  for (const data::TensorEntry& entry : reader->tensors()) {
    EXPECT_EQ(entry.dtype, DType::kF32);
    std::vector<float> values(entry.elements);
    ASSERT_TRUE(reader->ReadAsFloat(entry, 0, values).has_value());
    for (const float value : values) ASSERT_EQ(std::bit_cast<uint32_t>(value) & 0xffff, 0U) << entry.name;
  }
}

}  // namespace
}  // namespace tidemill::train
