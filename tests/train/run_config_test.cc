#include "train/config/run_config.h"

#include <gtest/gtest.h>

#include "train/config/config_file.h"
#include "train/config/flag_value.h"

namespace tidemill::train {
namespace {

using swap_scheduler::Tier;

// The values must have the kind of their flag, as those of the command line's parser.
Result<RunConfig> Parse(std::vector<FlagValue> values, RunKind kind = RunKind::kTrain) {
  for (const auto& [name, text] : std::vector<FlagValue>{{"model", "m"}, {"train-data", "d"}, {"output-dir", "o"}})
    values.insert(values.begin(), {name, text});
  return ParseRunConfig(kind, FlagSet(RunFlags(kind), std::move(values)));
}

RunConfig Parsed(std::vector<FlagValue> values) {
  auto config = Parse(std::move(values));
  EXPECT_TRUE(config.has_value()) << config.error().message;
  return config.value_or(RunConfig{});
}

std::string ErrorOf(std::vector<FlagValue> values) {
  const auto config = Parse(std::move(values));
  if (config.has_value()) return "no error";
  EXPECT_EQ(config.error().code, ErrorCode::kInvalidArgument);
  return config.error().message;
}

std::vector<FlagValue> Text(const std::string& text) {
  const auto values = ParseConfigText(text, "run.json", RunFlags(RunKind::kTrain), RunFlagAliases());
  EXPECT_TRUE(values.has_value()) << values.error().message;
  return values.value_or(std::vector<FlagValue>{});
}

std::string TextError(const std::string& text) {
  const auto values = ParseConfigText(text, "run.json", RunFlags(RunKind::kTrain), RunFlagAliases());
  return values.has_value() ? "no error" : values.error().message;
}

TEST(RunConfig, StartsWithTheDocumentedDefaults) {
  const RunConfig config = Parsed({});
  EXPECT_EQ(config.train_data, (std::vector<std::string>{"d"}));
  EXPECT_EQ(config.num_train_epochs, 3);
  EXPECT_EQ(config.max_steps, -1);
  EXPECT_EQ(config.train_batch_size * config.accumulation_steps, 1);
  EXPECT_EQ(config.max_length, 1024);
  EXPECT_EQ(config.learning_rate, 2e-5);
  EXPECT_EQ(config.adam_beta1, 0.9);
  EXPECT_EQ(config.adam_beta2, 0.999);
  EXPECT_EQ(config.adam_epsilon, 1e-8);
  EXPECT_EQ(config.max_grad_norm, 1);
  EXPECT_EQ(config.weight_decay, 0);
  EXPECT_EQ(config.seed, 42U);
  EXPECT_TRUE(config.shuffle && config.activation_checkpointing);
  EXPECT_FALSE(config.dtype.has_value() || config.save_dtype.has_value());
  EXPECT_EQ(config.max_shard_bytes, 5'000'000'000U);
  EXPECT_EQ(config.save.Steps(1'000'000), 500);
  EXPECT_EQ(config.eval_when, EvalWhen::kNever);
  EXPECT_TRUE(config.tiers.place_optimizer.automatic());
}

// A default in the table that does not have its own row's kind would abort the program when it is read.
TEST(RunConfig, HasDefaultsOfTheRightKindForEveryJob) {
  EXPECT_TRUE(Parse({}, RunKind::kPlan).has_value());
  for (const RunKind kind : {RunKind::kTrain, RunKind::kPlan, RunKind::kEval, RunKind::kGenerate}) {
    for (const FlagSpec& spec : RunFlags(kind)) {
      EXPECT_TRUE(spec.default_text.empty() || CheckFlagText(spec, spec.default_text, "x").has_value()) << spec.name;
      EXPECT_TRUE(CheckAvailable(spec, spec.default_text).has_value()) << spec.name;
    }
  }
}

TEST(RunConfig, NamesWhatIsMissing) {
  const auto empty = [](RunKind kind, std::vector<FlagValue> values) {
    return ParseRunConfig(kind, FlagSet(RunFlags(kind), std::move(values))).error().message;
  };
  EXPECT_EQ(empty(RunKind::kTrain, {}), "no model: give --model");
  EXPECT_EQ(empty(RunKind::kTrain, {{"model", "m"}}), "no training data: give --train-data");
  EXPECT_EQ(empty(RunKind::kTrain, {{"model", "m"}, {"train-data", "d"}}), "no output folder: give --output-dir");
}

TEST(RunConfig, RefusesValuesOutOfRangeByName) {
  for (const auto& [name, text] : std::vector<FlagValue>{{"per-device-train-batch-size", "0"},
                                                         {"gradient-accumulation-steps", "-1"},
                                                         {"max-length", "1"},
                                                         {"learning-rate", "-1e-5"},
                                                         {"adam-beta1", "1"},
                                                         {"adam-beta2", "1.5"},
                                                         {"adam-epsilon", "-1"},
                                                         {"max-grad-norm", "-1"},
                                                         {"weight-decay", "-0.1"},
                                                         {"warmup-steps", "2.5"},
                                                         {"warmup-ratio", "1.5"},
                                                         {"num-train-epochs", "0"},
                                                         {"seed", "-1"},
                                                         {"save-steps", "0"},
                                                         {"logging-steps", "1.5"},
                                                         {"save-total-limit", "0"},
                                                         {"max-shard-size", "0"},
                                                         {"threads", "0"},
                                                         {"group-size", "0"},
                                                         {"tile-size", "100"},
                                                         {"prefetch-depth", "-1"}})
    EXPECT_NE(ErrorOf({{name, text}}).find("--" + name), std::string::npos) << name << ": " << ErrorOf({{name, text}});
}

TEST(RunConfig, NeverIgnoresWhatIsNotBuilt) {
  EXPECT_EQ(ErrorOf({{"trace", "t.json"}}), "--trace is not available in this build");
  EXPECT_EQ(ErrorOf({{"packing", "yes"}}), "--packing is not available in this build with 'true'");
  EXPECT_EQ(ErrorOf({{"world-size", "2"}}), "--world-size is not available in this build");
  EXPECT_EQ(ErrorOf({{"device", "cuda:1"}}), "--device is not available in this build with 'cuda:1'");
  EXPECT_EQ(ErrorOf({{"packing", "false"}, {"world-size", "1"}, {"state-dtype", "float32"}}), "no error");
}

TEST(RunConfig, ReadsPlacementsAndShares) {
  const RunConfig config =
      Parsed({{"swap-dir", "a"}, {"swap-dir", "b"}, {"place-optimizer", "host=0.4,nvme"}, {"place-params", "nvme"}});
  EXPECT_EQ(config.tiers.swap_dirs, (std::vector<std::string>{"a", "b"}));
  const auto& shares = config.tiers.place_optimizer.shares;
  ASSERT_EQ(shares.size(), 2U);
  EXPECT_EQ(shares[0].tier, Tier::kHost);
  EXPECT_DOUBLE_EQ(shares[0].share, 0.4);
  EXPECT_EQ(shares[1].tier, Tier::kNvme);
  EXPECT_DOUBLE_EQ(shares[1].share, 0.6);
  EXPECT_EQ(FormatPlaceFlag(config.tiers.place_optimizer), "host=0.4,nvme=0.6");
  EXPECT_EQ(FormatPlaceFlag(config.tiers.place_params), "nvme");
}

TEST(RunConfig, RefusesPlacementsThatCannotBe) {
  for (const char* text : {"disk", "host=0.4", "host=0.4,nvme=0.5", "host,nvme", "host=1,nvme", "host=0,nvme", "host=2",
                           "host=0.5,host=0.5", "host=x,nvme", "", "host,"}) {
    const auto place = ParsePlaceFlag(text, "--place-params");
    ASSERT_FALSE(place.has_value()) << text;
    EXPECT_TRUE(place.error().message.starts_with("--place-params")) << place.error().message;
  }
  EXPECT_TRUE(ParsePlaceFlag("device=0.3,host=0.3,nvme=0.4", "").has_value());
}

TEST(RunConfig, ChecksFlagsAgainstEachOther) {
  EXPECT_EQ(ErrorOf({{"place-optimizer", "nvme"}}),
            "--place-optimizer names nvme, but there is no such tier: give --swap-dir");
  EXPECT_NE(ErrorOf({{"swap-size", "1GiB"}}).find("give --swap-dir"), std::string::npos);
  EXPECT_NE(ErrorOf({{"swap-dir", "s"}, {"swap-dir", "./s/"}}).find("twice"), std::string::npos);
  std::vector<FlagValue> many;
  for (int i = 0; i < 65; ++i) many.push_back({"swap-dir", "s" + std::to_string(i)});
  EXPECT_NE(ErrorOf(many).find("64 directories are the most"), std::string::npos);
  EXPECT_NE(ErrorOf({{"eval-steps", "5"}}).find("give a file"), std::string::npos);
  EXPECT_NE(ErrorOf({{"device", "host:mem=1GiB"}, {"device-memory", "2GiB"}}).find("lower it"), std::string::npos);
  EXPECT_NE(ErrorOf({{"bf16", "true"}, {"dtype", "fp32"}}).find("contradict"), std::string::npos);
  EXPECT_NE(ErrorOf({{"model", "."}, {"output-dir", "./."}}).find("own folder"), std::string::npos);
}

TEST(RunConfig, ReadsADeviceThatIsSlowedDown) {
  const RunConfig config = Parsed(
      {{"device", "host:mem=2GiB,pcie=2GB/s,flops=50e9,nvme-read=500MB/s,nvme_write=400MB/s"}, {"threads", "3"}});
  EXPECT_EQ(config.tiers.device.memory_bytes, 2ULL << 30);
  EXPECT_EQ(config.tiers.device.pcie_bytes_per_s, 2e9);
  EXPECT_EQ(config.tiers.device.flops_per_s, 50e9);
  EXPECT_EQ(config.tiers.device.nvme_read_bytes_per_s, 500e6);
  EXPECT_EQ(config.tiers.device.nvme_write_bytes_per_s, 400e6);
  EXPECT_EQ(config.tiers.threads, 3);
}

TEST(RunConfig, TakesTheSpellingsOfBothGenerations) {
  const RunConfig config = Parsed({{"warmup-ratio", "0.25"}, {"bf16", "true"}, {"resume-from-checkpoint", "true"}});
  EXPECT_EQ(config.warmup.Steps(10), 3);
  EXPECT_EQ(config.dtype, DType::kBf16);
  EXPECT_EQ(config.resume, "auto");
  const auto values = Text(R"({"gradient_checkpointing": false, "evaluation_strategy": "epoch", "eval_data": "e"})");
  const RunConfig older = Parsed(values);
  EXPECT_FALSE(older.activation_checkpointing);
  EXPECT_EQ(older.eval_when, EvalWhen::kEpoch);
}

TEST(RunConfig, EvaluatesAtTheEndUnlessToldWhen) {
  EXPECT_EQ(Parsed({{"eval-data", "e"}}).eval_when, EvalWhen::kEnd);
  EXPECT_EQ(Parsed({{"eval-data", "e"}, {"eval-strategy", "no"}}).eval_when, EvalWhen::kNever);
  const RunConfig steps = Parsed({{"eval-data", "e"}, {"eval-steps", "0.5"}});
  EXPECT_EQ(steps.eval_when, EvalWhen::kSteps);
  EXPECT_EQ(steps.eval.Steps(9), 5);
}

TEST(ConfigFile, HoldsFlagsOfEveryKind) {
  const RunConfig config = Parsed(Text(R"({"learning_rate": 1e-4, "max-steps": 5e2, "shuffle": false,
      "train_data": ["a,b", "c"], "lr_scheduler_type": "polynomial", "lr_scheduler_kwargs": {"power": 2},
      "host_memory": "2GiB", "device_memory": 1000000, "save_steps": "5e1", "eval_data": null})"));
  EXPECT_EQ(config.learning_rate, 1e-4);
  EXPECT_EQ(config.max_steps, 500);
  EXPECT_FALSE(config.shuffle);
  EXPECT_EQ(config.train_data, (std::vector<std::string>{"d", "a,b", "c"}));  // "d" is the fixture's
  EXPECT_EQ(config.schedule_options.power, 2);
  EXPECT_EQ(config.tiers.host_memory, 2ULL << 30);
  EXPECT_EQ(config.tiers.device_memory, 1'000'000U);
  EXPECT_EQ(config.save.Steps(1), 50);
  EXPECT_TRUE(config.eval_data.empty());
}

TEST(ConfigFile, NamesKeyAndPathOfWhatIsWrong) {
  EXPECT_EQ(TextError(R"({"lerning_rate": 1})"), "unknown key $.lerning_rate (run.json): did you mean learning-rate");
  EXPECT_EQ(TextError(R"({"learning_rate": true})"), "$.learning_rate (run.json) is true: give a number");
  EXPECT_EQ(TextError(R"({"shuffle": 3})"), "$.shuffle (run.json) is 3: give true or false");
  EXPECT_EQ(TextError(R"({"train_data": ["a", 1]})"), "$.train_data[1] (run.json) is 1: give a string");
  EXPECT_EQ(TextError(R"({"max_steps": 1.5})"), "$.max_steps (run.json) is '1.5': give a whole number");
  EXPECT_EQ(TextError(R"({"seed": 1, "seed": 2})"), "duplicate key 'seed' (run.json): keep one of them");
  EXPECT_EQ(TextError(R"({"max_steps": 1, "max-steps": 2})"), "duplicate key 'max-steps' (run.json): keep one of them");
  EXPECT_NE(TextError(R"({"gradient_checkpointing": true, "activation_checkpointing": true})").find("another spelling"),
            std::string::npos);
  EXPECT_NE(TextError("{").find("not valid JSON (run.json)"), std::string::npos);
  EXPECT_NE(TextError("[]").find("not a JSON object (run.json)"), std::string::npos);
  EXPECT_NE(TextError(R"({"learning_rate": 1e999})").find("run.json"), std::string::npos);
  EXPECT_NE(TextError(R"({"config": "x"})").find("$.config"), std::string::npos);
}

TEST(ConfigFile, LosesAgainstAFlagAndIsNamedWhenItCannotBeRead) {
  EXPECT_NE(ErrorOf({{"config", "no/such/file.json"}}).find("no/such/file.json"), std::string::npos);
  const std::string path = ::testing::TempDir() + "run_config_test.json";
  std::FILE* file = std::fopen(path.c_str(), "w");
  std::fputs(R"({"learning_rate": 1, "seed": 7, "swap_dir": ["x", "y"]})", file);
  std::fclose(file);
  const RunConfig config = Parsed({{"config", path}, {"learning-rate", "2"}, {"swap-dir", "z"}});
  std::remove(path.c_str());
  EXPECT_EQ(config.learning_rate, 2);
  EXPECT_EQ(config.seed, 7U);
  EXPECT_EQ(config.tiers.swap_dirs, (std::vector<std::string>{"z"}));
}

}  // namespace
}  // namespace tidemill::train
