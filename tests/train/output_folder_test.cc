// What a run leaves: everything that was beside the weights, and weights of the shapes and types that went in.
#include <gtest/gtest.h>

#include "tests/train/tiny_run.h"

namespace tidemill::train {
namespace {

constexpr const char* kNorm = "model.norm.weight";

std::map<std::string, data::TensorEntry> Entries(const std::string& path) {
  std::map<std::string, data::TensorEntry> entries;
  const auto reader = data::SafetensorsReader::Open(path);
  EXPECT_TRUE(reader.has_value()) << reader.error().message;
  if (!reader.has_value()) return entries;
  for (const data::TensorEntry& entry : reader->tensors()) entries[entry.name] = entry;
  return entries;
}

std::string HeaderOf(const std::string& file) {
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  return file.substr(sizeof length, length);
}

TEST(OutputFolder, HoldsEveryFileOfTheModelUnchanged) {
  TinyRun run;
  TinyModel tiny;
  tiny.config["a_key_of_tomorrow"] = {{"x", 1.5}, {"y", nullptr}};
  run.WriteModel(tiny);
  run.WriteTokenizer();
  // Settings that contradict each other are the user's; a save at the end of a run is no time to judge them.
  TinyRun::Write(run.model() + "/generation_config.json",
                 "{\"do_sample\": false,\n \"temperature\": 0.9, \"top_p\": 0.6}");
  TinyRun::Write(run.model() + "/tokenizer_config.json", R"({"chat_template": "{{ messages }}", "eos_token": "hi"})");
  TinyRun::Write(run.model() + "/special_tokens_map.json", R"({"eos_token": "hi"})");
  TinyRun::Write(run.model() + "/chat_template.jinja", "{% for m in messages %}\r\n{% endfor %}");
  const RunResult result = run.Train({{"save-strategy", "steps"}, {"save-steps", "1"}});
  ASSERT_TRUE(result.status.has_value()) << result.status.error().message;
  for (const std::string& folder : {run.output(), run.output() + "/checkpoint-1"}) {
    for (const char* name : {"config.json", "tokenizer.json", "generation_config.json", "tokenizer_config.json",
                             "special_tokens_map.json", "chat_template.jinja"}) {
      const std::string before = GoldenRun::Read(run.model() + "/" + name);
      ASSERT_FALSE(before.empty()) << name;
      EXPECT_EQ(before, GoldenRun::Read(folder + "/" + name)) << name;
    }
  }
  EXPECT_EQ(nlohmann::json::parse(HeaderOf(result.weights))["__metadata__"]["format"], "pt");
}

TEST(OutputFolder, IsWhatExportMakesOfTheLastCheckpoint) {
  TinyRun run;
  TinyModel tiny(TinyConfig(), DType::kBf16);
  tiny[kNorm].spec.dtype = DType::kF32;
  run.WriteModel(tiny);
  run.WriteTokenizer();
  for (const char* name : {"generation_config.json", "tokenizer_config.json", "special_tokens_map.json"})
    TinyRun::Write(run.model() + "/" + name, R"({"do_sample": false, "top_p": 0.6})");
  TinyRun::Write(run.model() + "/chat_template.jinja", "{{ x }}\r\n");
  const RunResult result =
      run.Train({{"save-strategy", "steps"}, {"save-steps", "1"}, {"freeze", "embed_tokens"}, {"dtype", "bf16"}});
  ASSERT_TRUE(result.status.has_value()) << result.status.error().message;
  ExportOptions options;
  options.checkpoint = run.output() + "/checkpoint-1";
  options.output_dir = run.work() + "/exported";
  const Status exported = Export(options);
  ASSERT_TRUE(exported.has_value()) << exported.error().message;
  for (const char* name : {"config.json", "tokenizer.json", "generation_config.json", "tokenizer_config.json",
                           "special_tokens_map.json", "chat_template.jinja", "model.safetensors"}) {
    const std::string made = GoldenRun::Read(run.output() + "/" + name);
    ASSERT_FALSE(made.empty()) << name;
    EXPECT_TRUE(made == GoldenRun::Read(options.output_dir + "/" + name)) << name;
  }
  options.save_dtype = DType::kF32;
  options.output_dir = run.work() + "/wide";
  ASSERT_TRUE(Export(options).has_value());
  const std::string wide = GoldenRun::Read(options.output_dir + "/model.safetensors");
  EXPECT_EQ(wide.size() - 8 - HeaderOf(wide).size(), 4 * tiny.parameters());
  EXPECT_EQ(nlohmann::json::parse(GoldenRun::Read(options.output_dir + "/config.json"))["torch_dtype"], "float32");
  EXPECT_TRUE(TinyRun::ReadTensors(options.output_dir + "/model.safetensors")["model.embed_tokens.weight"] ==
              TinyRun::ReadTensors(run.model() + "/model.safetensors")["model.embed_tokens.weight"]);
}

TEST(OutputFolder, KeepsEachTensorsNameShapeAndType) {
  TinyRun run;
  TinyModel tiny(TinyConfig(), DType::kBf16);
  for (TinyTensor& tensor : tiny.tensors) {
    if (tensor.spec.shape.size() == 1) tensor.spec.dtype = DType::kF32;
  }
  run.WriteModel(tiny);
  const RunResult result = run.Train();
  ASSERT_TRUE(result.status.has_value()) << result.status.error().message;
  const auto before = Entries(run.model() + "/model.safetensors");
  const auto after = Entries(run.output() + "/model.safetensors");
  ASSERT_EQ(before.size(), after.size());
  for (const auto& [name, entry] : before) {
    ASSERT_TRUE(after.contains(name)) << name;
    EXPECT_EQ(after.at(name).shape, entry.shape) << name;
    EXPECT_EQ(after.at(name).dtype, entry.dtype) << name;
  }
  EXPECT_EQ(after.at(kNorm).dtype, DType::kF32);
  EXPECT_EQ(after.at("lm_head.weight").dtype, DType::kBf16);
}

TEST(OutputFolder, IsAsLargeAsTheSourceAndSaysSo) {
  for (const char* key : {"torch_dtype", "dtype"}) {
    TinyRun run;
    TinyModel tiny(TinyConfig(), DType::kBf16);
    tiny.config.erase("torch_dtype");
    tiny.config[key] = "bfloat16";
    run.WriteModel(tiny);
    const RunResult result = run.Train();
    ASSERT_TRUE(result.status.has_value()) << result.status.error().message;
    EXPECT_EQ(result.weights.size() - 8 - HeaderOf(result.weights).size(), 2 * tiny.parameters());
    auto config = nlohmann::json::parse(GoldenRun::Read(run.output() + "/config.json"));
    EXPECT_EQ(config, tiny.config);
    const RunResult wide = run.Train({{"save-dtype", "float32"}});
    ASSERT_TRUE(wide.status.has_value()) << wide.status.error().message;
    EXPECT_EQ(wide.weights.size() - 8 - HeaderOf(wide.weights).size(), 4 * tiny.parameters());
    config = nlohmann::json::parse(GoldenRun::Read(run.output() + "/config.json"));
    EXPECT_EQ(config[key], "float32");
    EXPECT_EQ(config.size(), tiny.config.size());
  }
}

TEST(OutputFolder, HasAnIndexThatCountsTheTensorsBytes) {
  TinyRun run;
  const TinyModel tiny;
  run.WriteModel(tiny);
  ASSERT_TRUE(run.Train().status.has_value());
  const auto whole = run.Weights();
  const RunResult sharded = run.Train({{"max-shard-size", "60KB"}});
  ASSERT_TRUE(sharded.status.has_value()) << sharded.status.error().message;
  const auto index = nlohmann::json::parse(GoldenRun::Read(run.output() + "/model.safetensors.index.json"));
  EXPECT_EQ(index["metadata"]["total_size"], 4 * tiny.parameters());
  ASSERT_EQ(index["weight_map"].size(), tiny.tensors.size());
  std::map<std::string, std::vector<float>> parts;
  for (const auto& [name, file] : index["weight_map"].items()) {
    const std::string path = run.output() + "/" + file.get<std::string>();
    EXPECT_EQ(nlohmann::json::parse(HeaderOf(GoldenRun::Read(path)))["__metadata__"]["format"], "pt");
    parts[name] = TinyRun::ReadTensors(path)[name];
  }
  EXPECT_TRUE(parts == whole);
}

TEST(OutputFolder, HoldsAModelWhoseHeadsDoNotDivideItsHiddenSize) {
  auto config = TinyConfig();
  config["hidden_size"] = 56;
  config["num_attention_heads"] = 3;
  config["num_key_value_heads"] = 1;
  config["head_dim"] = 32;
  TinyRun run;
  run.WriteModel(TinyModel(config));
  const auto plan = run.Plan();
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_TRUE(plan->fits);
  const RunResult first = run.Train({{"max-steps", "5"}});
  ASSERT_TRUE(first.status.has_value()) << first.status.error().message;
  EXPECT_LT(Loss(first, 4), Loss(first, 0));
  const auto entries = Entries(run.output() + "/model.safetensors");
  EXPECT_EQ(entries.at("model.layers.0.self_attn.q_proj.weight").shape, (std::vector<uint64_t>{96, 56}));
  EXPECT_EQ(entries.at("model.layers.0.self_attn.k_proj.weight").shape, (std::vector<uint64_t>{32, 56}));
  EXPECT_EQ(entries.at("model.layers.1.self_attn.o_proj.weight").shape, (std::vector<uint64_t>{56, 96}));
  const auto again = run.Eval({{"model", run.output()}});
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_LT(again->loss, Loss(first, 4));
}

TEST(OutputFolder, IsRefusedBeforeTheFirstStepWhereItCannotBeMade) {
  TinyRun run;
  run.WriteModel(TinyModel());
  const RunResult under_a_file = run.Train({{"output-dir", run.rows() + "/out"}});
  ASSERT_FALSE(under_a_file.status.has_value());
  EXPECT_NE(under_a_file.status.error().message.find(run.rows() + "/out"), std::string::npos);
  EXPECT_FALSE(run.Train({{"output-dir", run.model()}}).status.has_value());
  EXPECT_FALSE(std::filesystem::exists(run.model() + "/metrics.jsonl"));
}

}  // namespace
}  // namespace tidemill::train
