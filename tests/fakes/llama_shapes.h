// The tensors of a Llama by its configuration's numbers.
#pragma once

#include <string>

#include "swap_scheduler/page_layout.h"

namespace tidemill::fakes {

struct LlamaShape {
  int layers;
  uint64_t hidden, kv, ffn, vocabulary;
  bool tied;
};

inline constexpr LlamaShape kSmolLm2{30, 576, 192, 1536, 49152, true};
inline constexpr LlamaShape kLlama70B{80, 8192, 1024, 28672, 128256, false};

inline swap_scheduler::ModelTensors LlamaTensors(const LlamaShape& s) {
  swap_scheduler::ModelTensors model;
  model.embedding = {"embedding", s.vocabulary, s.hidden, true, true};
  for (int i = 0; i < s.layers; ++i) {
    const std::string prefix = "layers." + std::to_string(i) + ".";
    model.layers.push_back({{prefix + "norm1", s.hidden},
                            {prefix + "q", s.hidden, s.hidden, true, true},
                            {prefix + "k", s.kv, s.hidden, true, true},
                            {prefix + "v", s.kv, s.hidden, true, true},
                            {prefix + "o", s.hidden, s.hidden, true, true},
                            {prefix + "norm2", s.hidden},
                            {prefix + "gate", s.ffn, s.hidden, true, true},
                            {prefix + "up", s.ffn, s.hidden, true, true},
                            {prefix + "down", s.hidden, s.ffn, true, true}});
  }
  model.final_norm = {"norm", s.hidden};
  if (!s.tied) model.head = {"head", s.vocabulary, s.hidden, true, true};
  return model;
}

}  // namespace tidemill::fakes
