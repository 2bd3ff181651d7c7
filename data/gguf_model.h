// The model that a GGUF file describes, and the Hugging Face configuration that says the same.
//
// Architectures: "llama" (which Mistral models without a sliding window share) and "qwen2". Whatever changes the
// arithmetic and has no place in the configuration written here is refused by name: experts, sliding windows, partial
// rotary dimensions, rope scalings other than linear and Llama 3's.
//
//   Errors   kInvalidArgument naming file and key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/dtype.h"
#include "data/gguf_reader.h"

namespace tidemill::data {

// "linear": positions divided by `factor`. "llama3": frequencies scaled by wavelength, as Llama 3.1's configuration
// says.
struct GgufRopeScaling {
  std::string type;
  double factor = 1, low_freq_factor = 1, high_freq_factor = 4;
  int64_t original_positions = 8192;
};

struct GgufModel {
  bool is_qwen2 = false;
  int64_t hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0, intermediate = 0, context = 0;
  int64_t vocab_rows = 0;  // of the embedding; at least the number of tokens
  double rms_epsilon = 0, rope_theta = 0;
  std::optional<GgufRopeScaling> rope_scaling;
  bool tied = false;  // no output.weight: the head is the embedding
  std::optional<int64_t> bos, eos, unk, pad;
};

Result<GgufModel> ReadGgufModel(const GgufReader& reader);

// config.json and generation_config.json, in the form of Python's json.dumps(indent=2).
std::string ConfigJson(const GgufModel& model, DType dtype);
std::string GenerationConfigJson(const GgufModel& model);

}  // namespace tidemill::data
