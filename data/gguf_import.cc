#include "data/gguf_import.h"

#include <algorithm>
#include <filesystem>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "data/gguf_model.h"
#include "data/gguf_reader.h"
#include "data/gguf_tokenizer.h"
#include "data/model_folder_writer.h"
#include "data/output_directory.h"

namespace tidemill::data {
namespace {

constexpr uint64_t kPieceElements = 64 * 1024;  // a multiple of every block

struct ImportTensor {
  TensorSpec target;
  const GgufTensor* source = nullptr;
  uint64_t permuted_heads = 0;  // 0: rows stay where they are
};

tl::unexpected<Error> Refuse(const std::string& what, const std::string& path) {
  return Fail(ErrorCode::kInvalidArgument, what + " ('" + path + "'): this model cannot be imported");
}

// Pairs every tensor of the Hugging Face model, in its order, with the one in the file.
class Layout {
 public:
  Layout(const GgufReader& reader, const GgufModel& model, DType dtype)
      : reader_(reader), model_(model), dtype_(dtype) {}

  Result<std::vector<ImportTensor>> Build() {
    const auto vocabulary = static_cast<uint64_t>(model_.vocab_rows), hidden = static_cast<uint64_t>(model_.hidden);
    TM_RETURN_IF_ERROR(Add("model.embed_tokens.weight", "token_embd.weight", {vocabulary, hidden}));
    for (int64_t layer = 0; layer < model_.layers; ++layer) TM_RETURN_IF_ERROR(AddLayer(layer));
    TM_RETURN_IF_ERROR(Add("model.norm.weight", "output_norm.weight", {hidden}));
    if (!model_.tied) TM_RETURN_IF_ERROR(Add("lm_head.weight", "output.weight", {vocabulary, hidden}));
    for (const GgufTensor& tensor : reader_.tensors()) {
      // rope_freqs.weight has become rope_scaling.
      if (!used_.contains(tensor.name) && tensor.name != "rope_freqs.weight")
        return Refuse("tensor '" + tensor.name + "' has no place in the model", reader_.path());
    }
    return std::move(tensors_);
  }

 private:
  Status AddLayer(int64_t layer) {
    const std::string to = "model.layers." + std::to_string(layer) + ".", from = "blk." + std::to_string(layer) + ".";
    const auto hidden = static_cast<uint64_t>(model_.hidden), inner = static_cast<uint64_t>(model_.intermediate);
    const auto heads = static_cast<uint64_t>(model_.heads), kv_heads = static_cast<uint64_t>(model_.kv_heads);
    const uint64_t head_dim = static_cast<uint64_t>(model_.head_dim), q = heads * head_dim, kv = kv_heads * head_dim;
    TM_RETURN_IF_ERROR(Add(to + "input_layernorm.weight", from + "attn_norm.weight", {hidden}));
    TM_RETURN_IF_ERROR(
        AddProjection(to + "self_attn.q_proj", from + "attn_q", {q, hidden}, model_.is_qwen2 ? 0 : heads));
    TM_RETURN_IF_ERROR(
        AddProjection(to + "self_attn.k_proj", from + "attn_k", {kv, hidden}, model_.is_qwen2 ? 0 : kv_heads));
    TM_RETURN_IF_ERROR(AddProjection(to + "self_attn.v_proj", from + "attn_v", {kv, hidden}, 0));
    TM_RETURN_IF_ERROR(Add(to + "self_attn.o_proj.weight", from + "attn_output.weight", {hidden, q}));
    TM_RETURN_IF_ERROR(Add(to + "post_attention_layernorm.weight", from + "ffn_norm.weight", {hidden}));
    TM_RETURN_IF_ERROR(Add(to + "mlp.gate_proj.weight", from + "ffn_gate.weight", {inner, hidden}));
    TM_RETURN_IF_ERROR(Add(to + "mlp.up_proj.weight", from + "ffn_up.weight", {inner, hidden}));
    return Add(to + "mlp.down_proj.weight", from + "ffn_down.weight", {hidden, inner});
  }

  // q, k and v have a bias in Qwen 2, right after the weight.
  Status AddProjection(const std::string& to, const std::string& from, std::vector<uint64_t> shape,
                       uint64_t permuted_heads) {
    const uint64_t rows = shape[0];
    TM_RETURN_IF_ERROR(Add(to + ".weight", from + ".weight", std::move(shape), permuted_heads));
    return model_.is_qwen2 ? Add(to + ".bias", from + ".bias", {rows}) : Ok();
  }

  Status Add(std::string to, const std::string& from, std::vector<uint64_t> shape, uint64_t permuted_heads = 0) {
    const GgufTensor* source = reader_.Find(from);
    if (source == nullptr) return Refuse("tensor '" + from + "' is missing", reader_.path());
    if (source->shape != shape)
      return Refuse("tensor '" + from + "' has the shape " + ShapeText(source->shape) + " where the model has " +
                        ShapeText(shape),
                    reader_.path());
    used_.insert(source->name);
    tensors_.push_back({{std::move(to), dtype_, std::move(shape)}, source, permuted_heads});
    return Ok();
  }

  const GgufReader& reader_;
  const GgufModel& model_;
  DType dtype_;
  std::vector<ImportTensor> tensors_;
  std::unordered_set<std::string_view> used_;
};

// Row by row in transformers' order; the file is read in llama.cpp's.
Status CopyPermuted(const GgufReader& reader, const ImportTensor& tensor, ModelFolderWriter& writer) {
  const uint64_t rows = tensor.target.shape[0], columns = tensor.target.shape[1];
  const uint64_t half = rows / tensor.permuted_heads / 2;
  std::vector<float> row(columns);
  for (uint64_t head = 0; head < tensor.permuted_heads; ++head) {
    for (uint64_t j = 0; j < 2; ++j) {
      for (uint64_t i = 0; i < half; ++i) {
        const uint64_t source_row = head * 2 * half + 2 * i + j;
        TM_RETURN_IF_ERROR(reader.ReadAsFloat(*tensor.source, source_row * columns, row));
        TM_RETURN_IF_ERROR(writer.AppendFloats(row));
      }
    }
  }
  return Ok();
}

Status CopyInOrder(const GgufReader& reader, const ImportTensor& tensor, ModelFolderWriter& writer) {
  const uint64_t elements = tensor.source->elements;
  std::vector<float> piece(std::min(kPieceElements, elements));
  for (uint64_t at = 0; at < elements; at += piece.size()) {
    const auto part = std::span(piece).first(std::min<uint64_t>(piece.size(), elements - at));
    TM_RETURN_IF_ERROR(reader.ReadAsFloat(*tensor.source, at, part));
    TM_RETURN_IF_ERROR(writer.AppendFloats(part));
  }
  return Ok();
}

Status WriteSmallFiles(const std::string& directory, const GgufModel& model, DType dtype,
                       const TokenizerFiles* tokenizer) {
  const auto write = [&](const char* name, const std::string& text) {
    return WriteFileAtomically((std::filesystem::path(directory) / name).string(), text);
  };
  TM_RETURN_IF_ERROR(write("config.json", ConfigJson(model, dtype)));
  TM_RETURN_IF_ERROR(write("generation_config.json", GenerationConfigJson(model)));
  if (tokenizer == nullptr) return Ok();
  TM_RETURN_IF_ERROR(write("tokenizer.json", tokenizer->tokenizer_json));
  TM_RETURN_IF_ERROR(write("special_tokens_map.json", tokenizer->special_tokens_map_json));
  return write("tokenizer_config.json", tokenizer->tokenizer_config_json);
}

}  // namespace

Result<GgufImportReport> ImportGguf(const std::string& path, const std::string& output_directory, DType save_dtype,
                                    uint64_t max_shard_bytes) {
  if (save_dtype != DType::kF32 && save_dtype != DType::kBf16 && save_dtype != DType::kF16)
    return Fail(ErrorCode::kInvalidArgument, "weights cannot be saved as " + std::string(TorchName(save_dtype)) +
                                                 " (--save-dtype): use fp32, bf16 or fp16");
  TM_ASSIGN_OR_RETURN(const GgufReader reader, GgufReader::Open(path));
  TM_ASSIGN_OR_RETURN(const GgufModel model, ReadGgufModel(reader));
  TM_ASSIGN_OR_RETURN(const auto tokenizer, ReadGgufTokenizer(reader.metadata(), model));
  TM_ASSIGN_OR_RETURN(const std::vector<ImportTensor> tensors, Layout(reader, model, save_dtype).Build());
  std::vector<TensorSpec> specs;
  GgufImportReport report{.tensors = tensors.size(), .has_tokenizer = tokenizer.has_value()};
  for (const ImportTensor& tensor : tensors) {
    specs.push_back(tensor.target);
    report.parameters += tensor.source->elements;
  }
  TM_ASSIGN_OR_RETURN(ModelFolderWriter writer, ModelFolderWriter::Create(output_directory, specs, max_shard_bytes));
  report.bytes = writer.total_bytes();
  report.files = writer.file_names().size();
  TM_RETURN_IF_ERROR(RequireFreeSpace(output_directory, report.bytes));
  for (const ImportTensor& tensor : tensors) {
    TM_RETURN_IF_ERROR(tensor.permuted_heads > 0 ? CopyPermuted(reader, tensor, writer)
                                                 : CopyInOrder(reader, tensor, writer));
  }
  // Only now: a folder that held a model keeps it whole when the weights cannot be written.
  TM_RETURN_IF_ERROR(
      WriteSmallFiles(output_directory, model, save_dtype, tokenizer.has_value() ? &*tokenizer : nullptr));
  TM_RETURN_IF_ERROR(writer.Commit());
  return report;
}

}  // namespace tidemill::data
