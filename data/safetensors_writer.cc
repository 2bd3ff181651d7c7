#include "data/safetensors_writer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace tidemill::data {
namespace {

constexpr size_t kPieceElements = 32 * 1024;
constexpr uint16_t kF16Infinity = 0x7c00;

// Returns false when a finite value became infinite.
bool RoundToF16(std::span<const float> values, uint16_t* out) {
  bool fits = true;
  for (size_t i = 0; i < values.size(); ++i) {
    out[i] = RoundToF16Even(values[i]);
    fits &= (out[i] & 0x7fffU) != kF16Infinity || !std::isfinite(values[i]);
  }
  return fits;
}

}  // namespace

Result<SafetensorsWriter> SafetensorsWriter::Create(const std::string& path, std::vector<TensorSpec> tensors,
                                                    const Metadata& extra) {
  const auto header = FormatSafetensorsHeader(tensors, extra);
  if (!header) return Fail(header.error().code, header.error().message + " ('" + path + "'): it cannot be saved");
  TM_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  TM_RETURN_IF_ERROR(file.Append(*header));
  return SafetensorsWriter(std::move(file), std::move(tensors));
}

SafetensorsWriter::SafetensorsWriter(AtomicFile file, std::vector<TensorSpec> tensors)
    : file_(std::move(file)), tensors_(std::move(tensors)) {
  if (!tensors_.empty()) left_bytes_ = BytesOf(tensors_[0]);
  SkipComplete();
}

// Moves on to the next tensor that still takes bytes; empty ones are complete at once.
void SafetensorsWriter::SkipComplete() {
  while (at_ < tensors_.size() && left_bytes_ == 0) {
    ++at_;
    if (at_ < tensors_.size()) left_bytes_ = BytesOf(tensors_[at_]);
  }
}

Status SafetensorsWriter::Append(std::span<const std::byte> bytes) {
  if (bytes.empty()) return Ok();
  TM_CHECK(current() != nullptr && bytes.size() <= left_bytes_);
  TM_RETURN_IF_ERROR(file_.Append(bytes));
  left_bytes_ -= bytes.size();
  SkipComplete();
  return Ok();
}

Status SafetensorsWriter::AppendFloats(std::span<const float> values) {
  if (values.empty()) return Ok();
  TM_CHECK(current() != nullptr);
  const DType dtype = current()->dtype;
  if (dtype == DType::kF32) return Append(std::as_bytes(values));
  TM_CHECK(dtype == DType::kBf16 || dtype == DType::kF16);
  std::array<uint16_t, kPieceElements> piece;
  while (!values.empty()) {
    const auto part = values.first(std::min(values.size(), piece.size()));
    if (dtype == DType::kBf16) {
      std::transform(part.begin(), part.end(), piece.begin(), RoundToBf16Even);
    } else if (!RoundToF16(part, piece.data())) {
      return Fail(ErrorCode::kInvalidArgument, "tensor '" + current()->name + "' has values beyond fp16's 65504 ('" +
                                                   file_.path() + "'): save as bf16 or fp32");
    }
    TM_RETURN_IF_ERROR(Append(std::as_bytes(std::span(piece).first(part.size()))));
    values = values.subspan(part.size());
  }
  return Ok();
}

Status SafetensorsWriter::Seal() {
  TM_CHECK(current() == nullptr);
  return file_.Seal();
}

Status SafetensorsWriter::Commit() {
  TM_CHECK(current() == nullptr);
  return file_.Commit();
}

}  // namespace tidemill::data
