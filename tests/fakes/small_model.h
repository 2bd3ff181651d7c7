// The tensors of a tiny Llama whose sizes are hardly ever multiples of anything.
#pragma once

#include <string>

#include "swap_scheduler/page_layout.h"

namespace tidemill::fakes {

struct SmallModelOptions {
  int layers = 2;
  bool tied = true;
};

inline swap_scheduler::ModelTensors SmallModel(SmallModelOptions options) {
  constexpr uint64_t kHidden = 48, kKv = 24, kFfn = 80, kVocab = 300;
  swap_scheduler::ModelTensors model;
  model.embedding = {"model.embed_tokens.weight", kVocab, kHidden, true, true};
  for (int i = 0; i < options.layers; ++i) {
    const std::string prefix = "model.layers." + std::to_string(i) + ".";
    model.layers.push_back({{prefix + "input_layernorm.weight", kHidden, 1},
                            {prefix + "self_attn.q_proj.weight", kHidden, kHidden, true, true},
                            {prefix + "self_attn.k_proj.weight", kKv, kHidden, true, true},
                            {prefix + "self_attn.v_proj.weight", kKv, kHidden, true, true},
                            {prefix + "self_attn.o_proj.weight", kHidden, kHidden, true, true},
                            {prefix + "post_attention_layernorm.weight", kHidden, 1},
                            {prefix + "mlp.gate_proj.weight", kFfn, kHidden, true, true},
                            {prefix + "mlp.up_proj.weight", kFfn, kHidden, true, true},
                            {prefix + "mlp.down_proj.weight", kHidden, kFfn, true, true}});
  }
  model.final_norm = {"model.norm.weight", kHidden, 1};
  if (!options.tied) model.head = {"lm_head.weight", kVocab, kHidden, true, true};
  return model;
}

}  // namespace tidemill::fakes
