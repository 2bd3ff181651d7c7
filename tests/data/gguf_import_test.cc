#include "data/gguf_import.h"

#include <string>
#include <vector>

#include "data/model_folder.h"
#include "tests/data/gguf_tiny.h"

namespace tidemill::data {
namespace {

class GgufImportTest : public TinyGgufTest {
 protected:
  std::vector<float> Load(const std::string& name) const {
    const auto folder = ModelFolder::Open(Path("out")).value();
    const FolderTensor tensor = folder.Get(name).value();
    std::vector<float> values(tensor.entry->elements);
    EXPECT_TRUE(tensor.file->ReadAsFloat(*tensor.entry, 0, values).has_value());
    return values;
  }
  // The first element of every row, which says where the row was.
  std::vector<float> FirstColumn(const std::string& name, size_t columns) const {
    const auto values = Load(name);
    std::vector<float> column;
    for (size_t i = 0; i < values.size(); i += columns) column.push_back(values[i]);
    return column;
  }
};

TEST_F(GgufImportTest, WritesTensorsInTransformersOrderWithTheirPayload) {
  const GgufImportReport report = Import({}).value();
  EXPECT_EQ(report.tensors, 12U);
  EXPECT_EQ(report.parameters, 440U);
  EXPECT_EQ(report.bytes, 1760U);
  EXPECT_TRUE(report.has_tokenizer);
  const auto folder = ModelFolder::Open(Path("out")).value();
  std::string names;
  for (const FolderTensor& tensor : folder.tensors()) names += tensor.entry->name + "\n";
  const std::string layer = "model.layers.0.";
  EXPECT_EQ(names, "model.embed_tokens.weight\n" + layer + "input_layernorm.weight\n" + layer +
                       "self_attn.q_proj.weight\n" + layer + "self_attn.k_proj.weight\n" + layer +
                       "self_attn.v_proj.weight\n" + layer + "self_attn.o_proj.weight\n" + layer +
                       "post_attention_layernorm.weight\n" + layer + "mlp.gate_proj.weight\n" + layer +
                       "mlp.up_proj.weight\n" + layer + "mlp.down_proj.weight\nmodel.norm.weight\nlm_head.weight\n");
  EXPECT_EQ(Load("model.embed_tokens.weight"), Counting(40, 0));
  EXPECT_EQ(Load("model.layers.0.mlp.down_proj.weight"), Counting(48, 700));
  EXPECT_EQ(Load("model.layers.0.self_attn.v_proj.weight"), Counting(32, 300));
  EXPECT_EQ(Load("lm_head.weight"), Counting(40, 800));
}

TEST_F(GgufImportTest, PutsRotaryPairsOfLlamaBackIntoHalves) {
  ASSERT_TRUE(Import({}).has_value());
  // Rows of a head of 4: the pairs (0, 1), (2, 3) become the halves (0, 2), (1, 3). A row has 8 elements.
  EXPECT_EQ(FirstColumn("model.layers.0.self_attn.q_proj.weight", 8),
            (std::vector<float>{100, 116, 108, 124, 132, 148, 140, 156}));
  EXPECT_EQ(FirstColumn("model.layers.0.self_attn.k_proj.weight", 8), (std::vector<float>{200, 216, 208, 224}));
}

TEST_F(GgufImportTest, Qwen2KeepsItsRowsAndHasBiases) {
  ASSERT_TRUE(Import({.architecture = "qwen2", .has_bias = true, .has_head = false}).has_value());
  EXPECT_EQ(Load("model.layers.0.self_attn.q_proj.weight"), Counting(64, 100));
  EXPECT_EQ(Load("model.layers.0.self_attn.q_proj.bias"), Counting(8, 50));
  EXPECT_EQ(Load("model.layers.0.self_attn.k_proj.bias"), Counting(4, 50));
  const std::string config = Read("out/config.json");
  EXPECT_TRUE(Contains(config, "\"Qwen2ForCausalLM\"")) << config;
  EXPECT_TRUE(Contains(config, "\"tie_word_embeddings\": true")) << config;  // no second head
  EXPECT_EQ(ModelFolder::Open(Path("out")).value().Find("lm_head.weight"), nullptr);
}

TEST_F(GgufImportTest, RoundsToTheWantedTypeAndSaysSo) {
  for (const auto& [dtype, name] : {std::pair(DType::kBf16, "bfloat16"), {DType::kF16, "float16"}}) {
    EXPECT_EQ(Import({}, dtype).value().bytes, 880U);
    EXPECT_TRUE(Contains(Read("out/config.json"), std::string("\"torch_dtype\": \"") + name + "\""));
    EXPECT_EQ(ModelFolder::Open(Path("out")).value().tensors()[0].entry->dtype, dtype);
  }
  EXPECT_EQ(Import({}, DType::kI64).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(GgufImportTest, WritesShardsOfTheWantedSize) {
  EXPECT_EQ(Import({}, DType::kF32, 500).value().files, 5U);
  EXPECT_TRUE(std::filesystem::exists(Path("out/model-00005-of-00005.safetensors")));
  EXPECT_EQ(ModelFolder::Open(Path("out")).value().tensors().size(), 12U);
  EXPECT_EQ(Load("lm_head.weight"), Counting(40, 800));
}

TEST_F(GgufImportTest, DequantisesPermutedRows) {
  // Blocks are 32 wide, and so is this model: one head of 4, whose size is not hidden / heads.
  GgufBuilder file;
  file.Text("general.architecture", "llama").Whole("llama.embedding_length", 32).Whole("llama.block_count", 1);
  file.Whole("llama.feed_forward_length", 1).Whole("llama.context_length", 64).Whole("llama.attention.head_count", 1);
  file.Real("llama.attention.layer_norm_rms_epsilon", 1e-5F).Whole("llama.attention.key_length", 4);
  file.Floats("token_embd.weight", {1, 32}, Counting(32, 0)).Floats("output_norm.weight", {32}, Counting(32, 0));
  std::string rows;
  for (int row = 0; row < 4; ++row) rows += Raw(uint16_t{0x3c00}) + std::string(32, static_cast<char>(row));
  file.Tensor("blk.0.attn_q.weight", {4, 32}, 8, rows).Tensor("blk.0.attn_k.weight", {4, 32}, 8, rows);
  file.Tensor("blk.0.attn_v.weight", {4, 32}, 8, rows).Floats("blk.0.attn_output.weight", {32, 4}, Counting(128, 0));
  for (const char* norm : {"blk.0.attn_norm.weight", "blk.0.ffn_norm.weight"}) file.Floats(norm, {32}, Counting(32, 0));
  for (const char* each : {"gate", "up"})
    file.Floats(std::string("blk.0.ffn_") + each + ".weight", {1, 32}, Counting(32, 0));
  file.Floats("blk.0.ffn_down.weight", {32, 1}, Counting(32, 0));
  const auto report = ImportGguf(Write("m.gguf", file.Build()), Path("out"), DType::kBf16, kGiB);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(FirstColumn("model.layers.0.self_attn.q_proj.weight", 32), (std::vector<float>{0, 2, 1, 3}));
  EXPECT_EQ(FirstColumn("model.layers.0.self_attn.v_proj.weight", 32), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_TRUE(Contains(Read("out/config.json"), "\"head_dim\": 4"));
  EXPECT_FALSE(report->has_tokenizer);
  EXPECT_EQ(Listing("out"), "config.json generation_config.json model.safetensors");
}

TEST_F(GgufImportTest, RefusesWhatTheModelLacksOrHasNoPlaceFor) {
  EXPECT_TRUE(Contains(Refusal({.skip = "blk.0.ffn_up.weight"}), "tensor 'blk.0.ffn_up.weight' is missing"));
  EXPECT_TRUE(Contains(Refusal({.skip = "token_embd.weight"}), "tensor 'token_embd.weight' is missing"));
  EXPECT_TRUE(Contains(Refusal({.has_bias = true}), "tensor 'blk.0.attn_q.bias' has no place in the model"));
  EXPECT_TRUE(Contains(Refusal({.architecture = "qwen2"}), "tensor 'blk.0.attn_q.bias' is missing"));
  EXPECT_TRUE(Contains(Refusal({.architecture = "gemma"}), "architecture 'gemma' is not supported"));
  Tiny wrong{.skip = "output_norm.weight"};
  wrong.more = [](GgufBuilder& file) { file.Floats("output_norm.weight", {4, 2}, Counting(8, 0)); };
  EXPECT_TRUE(Contains(Refusal(wrong), "has the shape [4, 2] where the model has [8]"));
}

TEST_F(GgufImportTest, AFailedImportLeavesTheModelThatWasThere) {
  ASSERT_TRUE(Import({}).has_value());
  const std::string before = Read("out/model.safetensors"), config = Read("out/config.json");
  Tiny beyond{.skip = "output_norm.weight"};
  beyond.more = [](GgufBuilder& file) { file.Floats("output_norm.weight", {8}, Counting(8, 70000)); };
  const auto report = Import(beyond, DType::kF16);
  ASSERT_FALSE(report.has_value());
  EXPECT_TRUE(Contains(report.error().message, "tensor 'model.norm.weight' has values beyond fp16"))
      << report.error().message;
  EXPECT_EQ(Read("out/model.safetensors"), before);
  EXPECT_EQ(Read("out/config.json"), config);
  EXPECT_FALSE(std::filesystem::exists(Path("out/model.safetensors.partial")));
}

}  // namespace
}  // namespace tidemill::data
