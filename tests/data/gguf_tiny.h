// A whole model of one layer as GGUF, which tests bend: what they leave out, add or change stands in the test.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/gguf_import.h"
#include "tests/data/gguf_fixture.h"

namespace tidemill::data {

inline std::vector<float> Counting(size_t count, float first) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = first + static_cast<float>(i);
  return values;
}

// One layer: hidden 8, 2 heads of 4 over 1, inner 6, 5 tokens. What a test leaves out or changes it says by name.
struct Tiny {
  std::string architecture = "llama", skip = {}, tokenizer = "gpt2";
  bool has_bias = false, has_head = true, has_ids = true;
  std::vector<std::string> tokens = {"<s>", "a", "b", "ab", "\u0120\""};
  float theta = 10000;
  std::vector<int32_t> types = {3, 1, 1, 1, 4};

  std::function<void(GgufBuilder&)> more = {};

  std::string Build() const {
    GgufBuilder file;
    const auto key = [&](const char* name) { return architecture + "." + name; };
    file.Text("general.architecture", architecture).Whole(key("embedding_length"), 8).Whole(key("block_count"), 1);
    file.Whole(key("feed_forward_length"), 6).Whole(key("context_length"), 64).Whole(key("attention.head_count"), 2);
    file.Whole(key("attention.head_count_kv"), 1).Real(key("attention.layer_norm_rms_epsilon"), 1e-6F);
    file.Real(key("rope.freq_base"), theta);
    if (!tokenizer.empty()) {
      file.Text("tokenizer.ggml.model", tokenizer).Texts("tokenizer.ggml.tokens", tokens);
      file.Texts("tokenizer.ggml.merges", {"a b"}).Wholes("tokenizer.ggml.token_type", types);
      if (has_ids) file.Whole("tokenizer.ggml.bos_token_id", 0).Whole("tokenizer.ggml.eos_token_id", 0);
    }
    const auto add = [&](const std::string& name, const std::vector<uint64_t>& shape, float first) {
      if (name == skip) return;
      size_t count = 1;
      for (const uint64_t size : shape) count *= size;
      file.Floats(name, shape, Counting(count, first));
    };
    add("token_embd.weight", {5, 8}, 0);
    add("blk.0.attn_q.weight", {8, 8}, 100);
    add("blk.0.attn_k.weight", {4, 8}, 200);
    add("blk.0.attn_v.weight", {4, 8}, 300);
    for (const char* each : {"q", "k", "v"})
      if (has_bias) add(std::string("blk.0.attn_") + each + ".bias", {*each == 'q' ? 8U : 4U}, 50);
    add("blk.0.attn_output.weight", {8, 8}, 400);
    add("blk.0.attn_norm.weight", {8}, 1);
    add("blk.0.ffn_norm.weight", {8}, 2);
    add("blk.0.ffn_gate.weight", {6, 8}, 500);
    add("blk.0.ffn_up.weight", {6, 8}, 600);
    add("blk.0.ffn_down.weight", {8, 6}, 700);
    add("output_norm.weight", {8}, 3);
    if (has_head) add("output.weight", {5, 8}, 800);
    if (more) more(file);
    return file.Build();
  }
};

class TinyGgufTest : public FileTest {
 protected:
  static constexpr uint64_t kGiB = 1U << 30;

  Result<GgufImportReport> Import(const Tiny& tiny, DType dtype = DType::kF32, uint64_t shard = kGiB) const {
    return ImportGguf(Write("m.gguf", tiny.Build()), Path("out"), dtype, shard);
  }
  std::string Refusal(const Tiny& tiny) const {
    const auto report = Import(tiny);
    EXPECT_FALSE(std::filesystem::exists(Path("out/model.safetensors")));
    if (report.has_value()) return "";
    EXPECT_EQ(report.error().code, ErrorCode::kInvalidArgument);
    EXPECT_TRUE(Contains(report.error().message, Path("m.gguf"))) << report.error().message;
    return report.error().message;
  }
};

}  // namespace tidemill::data
