#include "data/gguf_reader.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/byte_size.h"
#include "base/check.h"
#include "data/safetensors_header.h"

namespace tidemill::data {
namespace {

constexpr uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr uint64_t kMaxTensors = 131'072;
constexpr uint64_t kMaxNameBytes = 1024;
constexpr uint32_t kMaxDimensions = 4;
constexpr int64_t kDefaultAlignment = 32, kMinAlignment = 8, kMaxAlignment = 64 * 1024;
constexpr size_t kBufferBytes = 64 * 1024;

tl::unexpected<Error> Refuse(const std::string& what, const std::string& path) {
  return Fail(ErrorCode::kInvalidArgument, what + " ('" + path + "'): the file is damaged, fetch or convert it again");
}

struct Counts {
  uint64_t tensors = 0, keys = 0;
};

Result<Counts> ReadHead(GgufCursor& cursor, const std::string& path) {
  const auto magic = cursor.Number<uint32_t>();
  if (!magic || *magic != kMagic)
    return Fail(ErrorCode::kInvalidArgument, "not a GGUF file ('" + path + "'): give a file that starts with GGUF");
  const auto version = cursor.Number<uint32_t>();
  if (!version) return Refuse(version.error().message, path);
  if (*version == 0x02000000 || *version == 0x03000000)
    return Fail(ErrorCode::kInvalidArgument,
                "big-endian GGUF is not supported ('" + path + "'): convert it to little-endian");
  if (*version != 2 && *version != 3)
    return Fail(ErrorCode::kInvalidArgument, "GGUF version " + std::to_string(*version) + " is not supported ('" +
                                                 path + "'): convert it to version 2 or 3");
  const auto tensors = cursor.Number<uint64_t>();
  const auto keys = cursor.Number<uint64_t>();
  if (!tensors || !keys) return Refuse(keys.error().message, path);
  if (*tensors > kMaxTensors)
    return Refuse(std::to_string(*tensors) + " tensors (at most " + std::to_string(kMaxTensors) + ")", path);
  return Counts{*tensors, *keys};
}

Result<uint64_t> Alignment(const GgufMetadata& metadata) {
  const std::string key = "general.alignment";
  if (!metadata.Has(key)) return static_cast<uint64_t>(kDefaultAlignment);
  TM_ASSIGN_OR_RETURN(const int64_t alignment, metadata.Get<int64_t>(key));
  if (alignment < kMinAlignment || alignment > kMaxAlignment || !std::has_single_bit(static_cast<uint64_t>(alignment)))
    return Refuse("key '" + key + "' is " + std::to_string(alignment) + ", which is no power of two from 8 to 65536",
                  metadata.path());
  return static_cast<uint64_t>(alignment);
}

// One entry of the tensor table; its offset is relative to the data's start until Place().
Status ReadTensor(GgufCursor& cursor, GgufTensor& tensor) {
  TM_ASSIGN_OR_RETURN(const uint32_t dimensions, cursor.Number<uint32_t>());
  if (dimensions < 1 || dimensions > kMaxDimensions)
    return Fail(ErrorCode::kInvalidArgument, std::to_string(dimensions) + " dimensions (1 to 4)");
  for (uint32_t i = 0; i < dimensions; ++i) {
    TM_ASSIGN_OR_RETURN(const uint64_t size, cursor.Number<uint64_t>());
    if (size == 0) return Fail(ErrorCode::kInvalidArgument, "a dimension of 0");
    tensor.shape.insert(tensor.shape.begin(), size);
  }
  TM_ASSIGN_OR_RETURN(tensor.elements, ElementsOf(tensor.shape));
  TM_ASSIGN_OR_RETURN(const uint32_t number, cursor.Number<uint32_t>());
  TM_ASSIGN_OR_RETURN(tensor.type, GgufTypeFromNumber(number));
  TM_ASSIGN_OR_RETURN(tensor.offset_bytes, cursor.Number<uint64_t>());
  const GgufBlock block = BlockOf(tensor.type);
  if (tensor.shape.back() % block.elements != 0)
    return Fail(ErrorCode::kInvalidArgument, "rows of " + std::to_string(tensor.shape.back()) +
                                                 " elements, no multiple of the block of " +
                                                 std::to_string(block.elements));
  if (__builtin_mul_overflow(tensor.elements / block.elements, block.bytes, &tensor.bytes))
    return Fail(ErrorCode::kInvalidArgument, "more bytes than 64 bits count");
  return Ok();
}

}  // namespace

Result<GgufReader> GgufReader::Open(const std::string& path) {
  TM_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  GgufReader reader(std::move(file));
  GgufCursor cursor(reader.file_);
  TM_ASSIGN_OR_RETURN(const Counts counts, ReadHead(cursor, path));
  TM_ASSIGN_OR_RETURN(reader.metadata_, GgufMetadata::Read(cursor, counts.keys, path));
  TM_ASSIGN_OR_RETURN(const uint64_t alignment, Alignment(reader.metadata_));
  TM_RETURN_IF_ERROR(reader.ReadTensors(cursor, counts.tensors));
  TM_RETURN_IF_ERROR(reader.Place(AlignUp(cursor.position(), alignment), alignment));
  return reader;
}

Status GgufReader::ReadTensors(GgufCursor& cursor, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    GgufTensor tensor;
    auto name = cursor.String(kMaxNameBytes);
    if (!name) return Refuse("tensor number " + std::to_string(i) + " has " + name.error().message, path());
    if (!simdjson::validate_utf8(*name))
      return Refuse("tensor number " + std::to_string(i) + " has a name that is not UTF-8", path());
    tensor.name = std::move(*name);
    if (const Status status = ReadTensor(cursor, tensor); !status)
      return Refuse("tensor '" + tensor.name + "' has " + status.error().message, path());
    tensors_.push_back(std::move(tensor));
  }
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (!by_name_.emplace(tensors_[i].name, i).second)
      return Refuse("tensor '" + tensors_[i].name + "' is there twice", path());
  }
  return Ok();
}

// Makes offsets absolute and checks that every tensor lies in the file, aligned, and over no other.
Status GgufReader::Place(uint64_t data_start, uint64_t alignment) {
  std::vector<const GgufTensor*> order;
  for (GgufTensor& tensor : tensors_) {
    if (tensor.offset_bytes % alignment != 0)
      return Refuse("tensor '" + tensor.name + "' has the offset " + std::to_string(tensor.offset_bytes) +
                        ", no multiple of the alignment " + std::to_string(alignment),
                    path());
    uint64_t end = 0;
    if (__builtin_add_overflow(tensor.offset_bytes, data_start, &tensor.offset_bytes) ||
        __builtin_add_overflow(tensor.offset_bytes, tensor.bytes, &end) || end > file_.bytes())
      return Refuse("file truncated: tensor '" + tensor.name + "' has " + std::to_string(tensor.bytes) +
                        " bytes from byte " + std::to_string(tensor.offset_bytes) + " on, and the file has " +
                        std::to_string(file_.bytes()),
                    path());
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(),
            [](const GgufTensor* a, const GgufTensor* b) { return a->offset_bytes < b->offset_bytes; });
  for (size_t i = 1; i < order.size(); ++i) {
    if (order[i - 1]->offset_bytes + order[i - 1]->bytes > order[i]->offset_bytes)
      return Refuse("tensors '" + order[i - 1]->name + "' and '" + order[i]->name + "' overlap", path());
  }
  return Ok();
}

const GgufTensor* GgufReader::Find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

Status GgufReader::ReadAsFloat(const GgufTensor& tensor, uint64_t first_element, std::span<float> destination) const {
  const GgufBlock block = BlockOf(tensor.type);
  TM_CHECK(first_element <= tensor.elements && destination.size() <= tensor.elements - first_element);
  TM_CHECK(first_element % block.elements == 0 && destination.size() % block.elements == 0);
  std::array<std::byte, kBufferBytes> buffer;
  uint64_t offset_bytes = tensor.offset_bytes + first_element / block.elements * block.bytes;
  while (!destination.empty()) {
    const size_t blocks = std::min(destination.size() / block.elements, buffer.size() / block.bytes);
    const auto piece = std::span(buffer).first(blocks * block.bytes);
    TM_RETURN_IF_ERROR(file_.ReadAt(offset_bytes, piece));
    Dequantize(tensor.type, piece, destination.first(blocks * block.elements));
    destination = destination.subspan(blocks * block.elements);
    offset_bytes += piece.size();
  }
  return Ok();
}

}  // namespace tidemill::data
