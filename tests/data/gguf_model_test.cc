#include "data/gguf_model.h"

#include <string>
#include <vector>

#include "tests/data/gguf_tiny.h"

namespace tidemill::data {
namespace {

class GgufModelTest : public TinyGgufTest {
 protected:
  Result<GgufModel> Model(const Tiny& tiny) const {
    const GgufReader reader = GgufReader::Open(Write("m.gguf", tiny.Build())).value();
    return ReadGgufModel(reader);
  }
  // What the model says about a file with one more key or tensor.
  std::string RefusalWith(const std::function<void(GgufBuilder&)>& more) const { return Refusal({.more = more}); }
  static Tiny With(const std::function<void(GgufBuilder&)>& more) {
    Tiny tiny;
    tiny.more = more;
    return tiny;
  }
};

TEST_F(GgufModelTest, WritesTheConfigurationOfALlama) {
  EXPECT_EQ(ConfigJson(Model({}).value(), DType::kBf16), R"({
  "architectures": [
    "LlamaForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "eos_token_id": 0,
  "hidden_act": "silu",
  "hidden_size": 8,
  "initializer_range": 0.35355339059327373,
  "intermediate_size": 6,
  "max_position_embeddings": 64,
  "mlp_bias": false,
  "model_type": "llama",
  "num_attention_heads": 2,
  "num_hidden_layers": 1,
  "num_key_value_heads": 1,
  "pretraining_tp": 1,
  "rms_norm_eps": 1e-06,
  "rope_scaling": null,
  "rope_theta": 10000.0,
  "tie_word_embeddings": false,
  "torch_dtype": "bfloat16",
  "use_cache": true,
  "vocab_size": 5
}
)");
  EXPECT_EQ(GenerationConfigJson(Model({}).value()),
            "{\n  \"_from_model_config\": true,\n  \"bos_token_id\": 0,\n  \"eos_token_id\": 0\n}\n");
}

TEST_F(GgufModelTest, CountsTheRowsOfTheEmbeddingNotTheTokens) {
  EXPECT_EQ(Model({.tokens = {"<s>", "a", "b"}, .types = {3, 1, 1}}).value().vocab_rows, 5);
}

TEST_F(GgufModelTest, TakesLinearRopeScalingInBothSpellings) {
  const auto check = [&](const std::function<void(GgufBuilder&)>& more) {
    const GgufModel model = Model(With(more)).value();
    EXPECT_NE(ConfigJson(model, DType::kF32)
                  .find("\"rope_scaling\": {\n    \"factor\": 4.0,\n    \"rope_type\": \"linear\"\n  }"),
              std::string::npos);
  };
  check([](GgufBuilder& file) { file.Text("llama.rope.scaling.type", "linear").Real("llama.rope.scaling.factor", 4); });
  check([](GgufBuilder& file) { file.Real("llama.rope.scale_linear", 4); });
  const GgufModel none = Model(With([](GgufBuilder& file) { file.Text("llama.rope.scaling.type", "none"); })).value();
  EXPECT_FALSE(none.rope_scaling.has_value());
}

// Divisors of the Llama 3.1 rule (factor 8, 1, 4, 8192) for head size 4 and theta 10000: the wavelengths are 2 pi,
// shorter than 8192 / 4, and 200 pi, shorter still. Theta 1e8 makes the second 20000 pi, longer than 8192.
TEST_F(GgufModelTest, RecognisesTheFrequencyTableOfLlama3) {
  Tiny tiny;
  tiny.theta = 1e8F;
  tiny.more = [](GgufBuilder& file) { file.Floats("rope_freqs.weight", {2}, {1, 8}); };
  const GgufModel model = Model(tiny).value();
  ASSERT_TRUE(model.rope_scaling.has_value());
  EXPECT_EQ(model.rope_scaling->type, "llama3");
  EXPECT_EQ(model.rope_scaling->factor, 8);
  EXPECT_NE(ConfigJson(model, DType::kF32)
                .find("\"rope_scaling\": {\n    \"factor\": 8.0,\n    \"high_freq_factor\": 4.0,\n"
                      "    \"low_freq_factor\": 1.0,\n    \"original_max_position_embeddings\": 8192,\n"
                      "    \"rope_type\": \"llama3\"\n  }"),
            std::string::npos);
  EXPECT_TRUE(Import(tiny).has_value());
  tiny.more = [](GgufBuilder& file) { file.Floats("rope_freqs.weight", {2}, {2, 8}); };
  EXPECT_TRUE(Contains(Model(tiny).error().message, "frequencies that are not Llama 3's"));
  tiny.more = [](GgufBuilder& file) { file.Floats("rope_freqs.weight", {3}, {1, 8, 8}); };
  EXPECT_TRUE(Contains(Model(tiny).error().message, "not one fp32 number per pair"));
}

TEST_F(GgufModelTest, RefusesArithmeticThatTheConfigurationCannotSay) {
  const auto refused = [&](const std::function<void(GgufBuilder&)>& more, const std::string& words) {
    const std::string refusal = RefusalWith(more);
    EXPECT_TRUE(Contains(refusal, words)) << refusal;
  };
  refused([](GgufBuilder& f) { f.Text("llama.rope.scaling.type", "yarn"); }, "rope scaling 'yarn' is not supported");
  refused([](GgufBuilder& f) { f.Whole("llama.rope.dimension_count", 2); },
          "'llama.rope.dimension_count' is 2 of a head's 4");
  refused([](GgufBuilder& f) { f.Whole("llama.expert_count", 8); }, "a mixture of experts");
  refused([](GgufBuilder& f) { f.Whole("llama.attention.sliding_window", 32); }, "a sliding window of 32");
  refused([](GgufBuilder& f) { f.Real("llama.attention.clamp_kqv", 8); }, "key 'llama.attention.clamp_kqv'");
  refused([](GgufBuilder& f) { f.Whole("llama.attention.key_length", 4).Whole("llama.attention.value_length", 8); },
          "keys and values of different lengths");
  refused([](GgufBuilder& f) { f.Whole("llama.attention.key_length", 3); }, "no even head size");
  refused([](GgufBuilder& f) { f.Real("llama.rope.scaling.factor", -4); }, "the rope scaling factor is not positive");
}

TEST_F(GgufModelTest, RefusesSpecialIdsBeyondTheVocabulary) {
  const std::string refusal = RefusalWith([](GgufBuilder& file) { file.Whole("tokenizer.ggml.padding_token_id", 5); });
  EXPECT_TRUE(Contains(refusal, "key 'tokenizer.ggml.padding_token_id' is 5 of 5 vocabulary rows")) << refusal;
}

}  // namespace
}  // namespace tidemill::data
