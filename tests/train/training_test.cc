// Whole runs: the reference's losses, norms and updates; the same bits wherever the bytes live; resuming; refusals.
#include <gtest/gtest.h>

#include <cmath>

#include "data/safetensors_reader.h"
#include "tests/train/golden_run.h"
#include "tests/train/named_change.h"

namespace tidemill::train {
namespace {

using Flags = std::vector<std::pair<std::string, std::string>>;

Flags Everywhere(const GoldenRun& run, const std::string& tier) {
  return {{"swap-dir", run.swap()},
          {"place-params", tier},
          {"place-optimizer", tier},
          {"place-gradients", tier},
          {"place-activations", tier}};
}

Flags Joined(Flags flags, const Flags& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

// The sample of each tensor's update that golden.json keeps.
void ExpectUpdates(const GoldenRun& run, double tolerance) {
  const auto reader = data::SafetensorsReader::Open(run.output() + "/model.safetensors");
  ASSERT_TRUE(reader.has_value());
  for (const auto& [name, info] : run.golden()["tensors"].items()) {
    const data::TensorEntry* const entry = reader->Find(name);
    ASSERT_NE(entry, nullptr) << name;
    std::vector<float> values(entry->elements);
    ASSERT_TRUE(reader->ReadAsFloat(*entry, 0, values).has_value());
    const auto& final = info["final"];
    const double scale = info["update"]["norm"].get<double>() / std::sqrt(static_cast<double>(entry->elements));
    for (size_t i = 0; i < final["at"].size(); ++i)
      EXPECT_NEAR(values[final["at"][i].get<size_t>()], final["values"][i].get<double>(), tolerance * scale + 1e-7)
          << name << " " << i;
  }
}

class EveryGoldenModel : public testing::TestWithParam<const char*> {};

TEST_P(EveryGoldenModel, TrainsAsTheReferenceDoes) {
  const GoldenRun run(GetParam());
  const RunResult result = run.Train({});
  ASSERT_TRUE(result.status.has_value()) << result.status.error().message;
  const auto& steps = run.golden()["steps"];
  ASSERT_EQ(result.steps.size(), steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_NEAR(result.steps[i]["loss"].get<double>(), steps[i]["loss"].get<double>(), 1e-5);
    EXPECT_NEAR(result.steps[i]["grad_norm"].get<double>() / steps[i]["grad_norm"].get<double>(), 1, 5e-5);
    EXPECT_NEAR(result.steps[i]["learning_rate"].get<double>(), steps[i]["lr"].get<double>(), 1e-9);
    EXPECT_EQ(result.steps[i]["supervised_tokens"], steps[i]["n_targets"]);
  }
  ExpectUpdates(run, 0.05);
}

INSTANTIATE_TEST_SUITE_P(, EveryGoldenModel,
                         testing::Values("llama_gqa_tied_f32", "llama3_rope_bf16", "mistral_sliding_f16",
                                         "qwen2_bias_tied_bf16", "qwen3_qknorm_bf16"));

void ExpectSameBits(const RunResult& a, const RunResult& b, const std::string& what) {
  ASSERT_TRUE(b.status.has_value()) << what << ": " << b.status.error().message;
  ASSERT_EQ(a.steps.size(), b.steps.size()) << what;
  for (size_t i = 0; i < a.steps.size(); ++i) {
    EXPECT_EQ(a.steps[i]["loss"], b.steps[i]["loss"]) << what << ", step " << i + 1;
    EXPECT_EQ(a.steps[i]["grad_norm"], b.steps[i]["grad_norm"]) << what << ", step " << i + 1;
  }
  EXPECT_TRUE(a.weights == b.weights) << what << ": the weights differ";
}

class EveryDType : public testing::TestWithParam<const char*> {};

TEST_P(EveryDType, PlacementNeverChangesABit) {
  const GoldenRun run("qwen2_bias_tied_bf16");
  const Flags common{{"dtype", GetParam()}, {"max-steps", "4"}};
  const RunResult device = run.Train(Joined(common, Everywhere(run, "device")));
  ASSERT_TRUE(device.status.has_value()) << device.status.error().message;
  EXPECT_EQ(device.steps[0]["moved_bytes"]["upload"], 0);
  ExpectSameBits(device, run.Train(Joined(common, Everywhere(run, "host"))), "host");
  ExpectSameBits(device, run.Train(Joined(common, Everywhere(run, "nvme"))), "nvme");
  const Flags knobs{{"group-size", "1"}, {"tile-size", "16KiB"}, {"prefetch-depth", "0"}, {"io-engine", "posix"}};
  ExpectSameBits(device, run.Train(Joined(Joined(common, Everywhere(run, "nvme")), knobs)), "nvme, every knob turned");
  ExpectSameBits(device, run.Train(Joined(common, {{"activation-checkpointing", "false"}, {"threads", "3"}})),
                 "no recompute, 3 threads");
  const Flags shares{{"swap-dir", run.swap()}, {"place-optimizer", "host=0.5,nvme"}, {"place-params", "host=0.3,nvme"}};
  ExpectSameBits(device, run.Train(Joined(common, shares)), "shares");
}

INSTANTIATE_TEST_SUITE_P(, EveryDType, testing::Values("fp32", "bf16"));

TEST(Training, MovesBytesOnTheLanesThatAPlacementNeedsAndOnNoOther) {
  const GoldenRun run("qwen3_qknorm_bf16");
  const RunResult host = run.Train(Joined({{"max-steps", "1"}}, Everywhere(run, "host")));
  ASSERT_TRUE(host.status.has_value()) << host.status.error().message;
  const auto& moved = host.steps[0]["moved_bytes"];
  EXPECT_GT(moved["upload"], 0);
  EXPECT_GT(moved["download"], 0);
  EXPECT_EQ(moved["nvme_read"], 0);
  EXPECT_EQ(moved["nvme_write"], 0);
  EXPECT_TRUE(std::filesystem::is_empty(run.swap()));
}

// Every lane has something to do at the same time as the others; run it under TSan.
TEST(Training, AThrottledRunWithAllLanesBusyHasTheBitsOfOneThatIsNot) {
  const GoldenRun run("llama_gqa_tied_f32");
  const Flags common = Joined({{"max-steps", "2"}}, Everywhere(run, "nvme"));
  const RunResult free = run.Train(common);
  ASSERT_TRUE(free.status.has_value()) << free.status.error().message;
  const RunResult slow = run.Train(
      Joined(common, {{"device", "host:mem=256MiB,pcie=200MB/s,flops=2e9,nvme-read=100MB/s,nvme-write=100MB/s"}}));
  ExpectSameBits(free, slow, "throttled");
  for (const auto& step : slow.steps) {
    for (const char* lane : {"upload", "download", "nvme_read", "nvme_write"})
      EXPECT_GT(step["moved_bytes"][lane], 0) << lane;
    for (const char* lane : {"compute", "upload", "download", "nvme_read", "nvme_write", "adam"})
      EXPECT_GT(step["busy_seconds"][lane], 0) << lane;
  }
}

TEST(Training, ResumesBitForBitInAnotherPlacement) {
  const GoldenRun run("llama_gqa_tied_f32");
  const Flags bf16{{"dtype", "bf16"}};
  const RunResult whole = run.Train(bf16);
  ASSERT_TRUE(whole.status.has_value()) << whole.status.error().message;
  // The schedule is the whole run's: the stop is a checkpoint, not a shorter run.
  ASSERT_TRUE(run.Train(Joined(bf16, {{"save-strategy", "steps"}, {"save-steps", "7"}})).status.has_value());
  ASSERT_TRUE(std::filesystem::exists(run.output() + "/checkpoint-7/optimizer/master.safetensors"));
  const RunResult resumed =
      run.Train(Joined(Joined(bf16, Everywhere(run, "nvme")), {{"resume-from-checkpoint", "auto"}}), false);
  ExpectSameBits(whole, resumed, "resumed");
}

TEST(Training, RefusesToResumeAnotherRun) {
  const GoldenRun run("llama_gqa_tied_f32");
  ASSERT_TRUE(run.Train({{"save-strategy", "steps"}, {"save-steps", "2"}, {"max-steps", "2"}}).status.has_value());
  const RunResult other = run.Train({{"resume-from-checkpoint", "auto"}, {"seed", "7"}}, false);
  ASSERT_FALSE(other.status.has_value());
  EXPECT_EQ(other.status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(other.status.error().message.find("--seed"), std::string::npos) << other.status.error().message;
}

TEST(Training, FrozenTensorsKeepTheirBytesAndTheRestMoves) {
  const GoldenRun run("llama_gqa_tied_f32");
  const RunResult result = run.Train({{"freeze", "embed_tokens|layers\\.0\\."}, {"max-steps", "3"}});
  ASSERT_TRUE(result.status.has_value()) << result.status.error().message;
  const auto before = data::SafetensorsReader::Open(run.model() + "/model.safetensors");
  const auto after = data::SafetensorsReader::Open(run.output() + "/model.safetensors");
  for (const data::TensorEntry& entry : after->tensors()) {
    std::vector<float> a(entry.elements), b(entry.elements);
    ASSERT_TRUE(before->ReadAsFloat(*before->Find(entry.name), 0, a).has_value());
    ASSERT_TRUE(after->ReadAsFloat(entry, 0, b).has_value());
    const bool frozen =
        entry.name.find("embed_tokens") != std::string::npos || entry.name.find("layers.0.") != std::string::npos;
    EXPECT_EQ(a == b, frozen) << entry.name;
  }
}

TEST(Training, RefusesBudgetsThatDoNotFitAndTakesTheSmallestChangeThatItNames) {
  for (const char* model : {"llama_gqa_tied_f32", "qwen3_qknorm_bf16"}) {
    const GoldenRun run(model);
    for (const auto& [device, host] : {std::pair(100 * kKiB, kMiB), std::pair(2 * kMiB, 20 * kKiB)}) {
      const auto budgets = [&](uint64_t device_bytes, uint64_t host_bytes) {
        return Flags{{"max-steps", "1"},
                     {"max-length", "64"},
                     {"swap-dir", run.swap()},
                     {"device", "host:mem=" + std::to_string(device_bytes)},
                     {"host-memory", std::to_string(host_bytes)}};
      };
      const auto options = ParsePlanOptions(run.Flags(RunKind::kPlan, budgets(device, host)));
      ASSERT_TRUE(options.has_value()) << options.error().message;
      for (const bool plan : {true, false}) {
        std::string message;
        if (plan) {
          const auto report = PlanRun(*options);
          ASSERT_TRUE(report.has_value()) << report.error().message;
          EXPECT_FALSE(report->fits);
          message = report->smallest_change;
        } else {
          const RunResult refused = run.Train(budgets(device, host));
          ASSERT_FALSE(refused.status.has_value());
          EXPECT_EQ(refused.status.error().code, ErrorCode::kDoesNotFit);
          message = refused.status.error().message;
        }
        SCOPED_TRACE(message);
        const Flags changed = budgets(NamedBytes(message, "device memory").value_or(device),
                                      NamedBytes(message, "host memory").value_or(host));
        const auto fits = PlanRun(*ParsePlanOptions(run.Flags(RunKind::kPlan, changed)));
        ASSERT_TRUE(fits.has_value()) << fits.error().message;
        EXPECT_TRUE(fits->fits || !plan) << fits->smallest_change;
        const RunResult trained = run.Train(changed);
        EXPECT_TRUE(trained.status.has_value()) << trained.status.error().message;
      }
    }
  }
}

}  // namespace
}  // namespace tidemill::train
