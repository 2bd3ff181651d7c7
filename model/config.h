// What a Hugging Face config.json says about a decoder's arithmetic, in one plain value.
//
// Architectures: LlamaForCausalLM (Llama 1 to 3.2, SmolLM2), MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM.
// Both spellings: transformers 4 (rope_theta, rope_scaling, torch_dtype) and 5 (rope_parameters, dtype). Absent keys
// mean what transformers' configuration class of the architecture means by them; sizes must be there.
//
//   Errors      whatever changes the arithmetic and is not supported is refused by its key and value: an unknown
//               architecture, activation, RoPE type, layer type, pretraining_tp > 1, dropout, quantised weights.
//   Limits      every size fits 31 bits, and so does the number of columns of each matrix.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"

namespace tidemill::model {

enum class Architecture : uint8_t { kLlama, kMistral, kQwen2, kQwen3 };

// Rotary position embedding; model/rope.h has the formulas.
struct RopeConfig {
  enum class Type : uint8_t { kDefault, kLinear, kLlama3 };
  Type type = Type::kDefault;
  double theta = 10000;
  double factor = 1;                                                             // linear and llama3
  double low_freq_factor = 1, high_freq_factor = 4, original_max_positions = 0;  // llama3
};

struct ModelConfig {
  Architecture architecture = Architecture::kLlama;
  int64_t vocabulary = 0, hidden = 0, intermediate = 0, layers = 0;
  int64_t heads = 0, kv_heads = 0, head_dim = 0;  // heads % kv_heads == 0; head_dim is even
  int64_t max_positions = 0;                      // what the model was made for; 0: not said
  float rms_epsilon = 1e-6F;
  bool qkv_bias = false, output_bias = false, mlp_bias = false;
  bool qk_norm = false;  // RMSNorm over each head of q and of k, before RoPE
  bool tied = false;     // the head's matrix is the embedding's
  RopeConfig rope;
  std::vector<int32_t> windows;  // [layers], attention window in tokens; 0: all
  std::vector<int32_t> eos_ids;  // may be empty: generation_config.json has them too
  DType dtype = DType::kF32;     // of the checkpoint, as far as the configuration says

  int64_t q_columns() const { return heads * head_dim; }
  int64_t kv_columns() const { return kv_heads * head_dim; }
};

// `where` names the file in messages.
Result<ModelConfig> ParseModelConfig(std::string_view config_json, std::string_view where);

}  // namespace tidemill::model
