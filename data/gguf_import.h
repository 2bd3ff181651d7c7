// Turns a GGUF file into a Hugging Face folder: weights de-quantised and rounded once to the wanted dtype,
// configuration, tokenizer files. Tensors are streamed: memory does not grow with the model.
//
// Names, order and shapes are those of transformers' LlamaForCausalLM and Qwen2ForCausalLM. For "llama", the rows of q
// and k go back from llama.cpp's order (rotary pairs side by side) to transformers' (first half, second half): row
// 2i + j of a head becomes row j * head_dim / 2 + i.
//
//   Errors      kInvalidArgument names what the file lacks, has too much or breaks; kDoesNotFit when the weights
//               will not fit the disk; kNoSpace, kIo as AtomicFile.
//   Durability  as ModelFolderWriter; the small files are written once all weights are, and the weights appear last.
#pragma once

#include <cstdint>
#include <string>

#include "base/dtype.h"
#include "base/result.h"

namespace tidemill::data {

struct GgufImportReport {
  uint64_t tensors = 0, parameters = 0;
  uint64_t bytes = 0;          // of tensors, as written
  uint64_t files = 0;          // of weights
  bool has_tokenizer = false;  // false: the file carried none
};

// `save_dtype` is fp32, bf16 (nearest even) or fp16. The output directory is made if missing; a model that it already
// holds is replaced.
Result<GgufImportReport> ImportGguf(const std::string& path, const std::string& output_directory, DType save_dtype,
                                    uint64_t max_shard_bytes);

}  // namespace tidemill::data
