#include "data/safetensors_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace tidemill::data {
namespace {

constexpr size_t kBufferBytes = 64 * 1024;

template <typename Element, typename Widen>
void WidenAll(const std::byte* source, std::span<float> destination, const Widen& widen) {
  for (size_t i = 0; i < destination.size(); ++i) {
    Element element;  // the source may be unaligned
    std::memcpy(&element, source + i * sizeof(Element), sizeof(Element));
    destination[i] = widen(element);
  }
}

void WidenPiece(DType dtype, const std::byte* source, std::span<float> destination) {
  switch (dtype) {
    case DType::kBf16:
      return WidenAll<uint16_t>(source, destination, Bf16ToFloat);
    case DType::kF16:
      return WidenAll<uint16_t>(source, destination, F16ToFloat);
    case DType::kF64:
      return WidenAll<double>(source, destination, [](double value) { return static_cast<float>(value); });
    default:
      TM_CHECK(false);
  }
}

}  // namespace

Result<SafetensorsReader> SafetensorsReader::Open(const std::string& path) {
  TM_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  const auto refuse = [&](const std::string& what) {
    return Fail(ErrorCode::kInvalidArgument, what + " ('" + path + "'): this is not a whole safetensors file");
  };
  uint64_t header_bytes = 0;
  if (file.bytes() < sizeof(header_bytes))
    return refuse("file truncated: at least 8 bytes expected, " + std::to_string(file.bytes()) + " found");
  TM_RETURN_IF_ERROR(file.ReadAt(0, std::as_writable_bytes(std::span(&header_bytes, 1))));
  if (header_bytes > kMaxHeaderBytes)
    return refuse("header of " + std::to_string(header_bytes) + " bytes (at most " + std::to_string(kMaxHeaderBytes) +
                  ")");
  if (header_bytes > file.bytes() - sizeof(header_bytes))
    return refuse("file truncated: header of " + std::to_string(header_bytes) + " bytes expected, " +
                  std::to_string(file.bytes() - sizeof(header_bytes)) + " found");
  std::string json(header_bytes, '\0');
  TM_RETURN_IF_ERROR(file.ReadAt(sizeof(header_bytes), std::as_writable_bytes(std::span(json))));
  TM_ASSIGN_OR_RETURN(SafetensorsHeader header, ParseSafetensorsHeader(json, file.bytes(), path));
  return SafetensorsReader(std::move(file), std::move(header));
}

SafetensorsReader::SafetensorsReader(InputFile file, SafetensorsHeader header)
    : file_(std::move(file)), header_(std::move(header)) {
  for (size_t i = 0; i < header_.tensors.size(); ++i) by_name_.emplace(header_.tensors[i].name, i);
}

const TensorEntry* SafetensorsReader::Find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &header_.tensors[found->second];
}

Status SafetensorsReader::ReadBytes(const TensorEntry& tensor, uint64_t first_byte,
                                    std::span<std::byte> destination) const {
  TM_CHECK(first_byte <= tensor.bytes && destination.size() <= tensor.bytes - first_byte);
  return file_.ReadAt(tensor.offset_bytes + first_byte, destination);
}

Status SafetensorsReader::ReadAsFloat(const TensorEntry& tensor, uint64_t first_element,
                                      std::span<float> destination) const {
  TM_CHECK(first_element <= tensor.elements && destination.size() <= tensor.elements - first_element);
  const DType dtype = tensor.dtype;
  if (dtype == DType::kF32)
    return ReadBytes(tensor, first_element * sizeof(float), std::as_writable_bytes(destination));
  if (dtype != DType::kBf16 && dtype != DType::kF16 && dtype != DType::kF64)
    return Fail(ErrorCode::kInvalidArgument, "tensor '" + tensor.name + "' holds " +
                                                 std::string(SafetensorsName(dtype)) + " ('" + path() +
                                                 "'): weights must be F32, BF16, F16 or F64");
  alignas(8) std::array<std::byte, kBufferBytes> buffer;
  const size_t element_bytes = SizeOf(dtype);
  while (!destination.empty()) {
    const size_t count = std::min(destination.size(), buffer.size() / element_bytes);
    TM_RETURN_IF_ERROR(
        ReadBytes(tensor, first_element * element_bytes, std::span(buffer).first(count * element_bytes)));
    WidenPiece(dtype, buffer.data(), destination.first(count));
    destination = destination.subspan(count);
    first_element += count;
  }
  return Ok();
}

}  // namespace tidemill::data
