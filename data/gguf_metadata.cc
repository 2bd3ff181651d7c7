#include "data/gguf_metadata.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/byte_size.h"

namespace tidemill::data {
namespace {

constexpr uint64_t kMaxKeys = 65'536;
constexpr uint64_t kMaxStringBytes = 64 * kMiB;
constexpr uint64_t kMaxArrayElements = uint64_t{1} << 24;
constexpr uint64_t kMaxMetadataBytes = kGiB;
constexpr uint64_t kWindowBytes = 256 * kKiB;

enum ValueType : uint32_t {
  kUint8 = 0,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kString,
  kArray,
  kUint64,
  kInt64,
  kFloat64
};

template <typename T>
Result<int64_t> ReadInteger(GgufCursor& cursor) {
  TM_ASSIGN_OR_RETURN(const T value, cursor.Number<T>());
  if (!std::in_range<int64_t>(value)) return Fail(ErrorCode::kInvalidArgument, "a number above 2^63 - 1");
  return static_cast<int64_t>(value);
}

Result<int64_t> ReadWhole(GgufCursor& cursor, uint32_t type) {
  switch (type) {
    case kUint8:
    case kBool:
      return ReadInteger<uint8_t>(cursor);
    case kInt8:
      return ReadInteger<int8_t>(cursor);
    case kUint16:
      return ReadInteger<uint16_t>(cursor);
    case kInt16:
      return ReadInteger<int16_t>(cursor);
    case kUint32:
      return ReadInteger<uint32_t>(cursor);
    case kInt32:
      return ReadInteger<int32_t>(cursor);
    case kUint64:
      return ReadInteger<uint64_t>(cursor);
    case kInt64:
      return ReadInteger<int64_t>(cursor);
    default:
      return Fail(ErrorCode::kInvalidArgument, "the unknown value type " + std::to_string(type));
  }
}

Result<double> ReadReal(GgufCursor& cursor, uint32_t type) {
  if (type == kFloat64) return cursor.Number<double>();
  return cursor.Number<float>().map([](float value) { return static_cast<double>(value); });
}

template <typename T, typename ReadOne>
Status ReadElements(uint64_t count, GgufValue& out, const ReadOne& read_one) {
  auto& values = out.emplace<std::vector<T>>();
  for (uint64_t i = 0; i < count; ++i) {
    TM_ASSIGN_OR_RETURN(T value, read_one());
    values.push_back(std::move(value));
  }
  return Ok();
}

Status ReadArray(GgufCursor& cursor, GgufValue& out) {
  TM_ASSIGN_OR_RETURN(const uint32_t type, cursor.Number<uint32_t>());
  TM_ASSIGN_OR_RETURN(const uint64_t count, cursor.Number<uint64_t>());
  if (type == kArray) return Fail(ErrorCode::kInvalidArgument, "an array of arrays, which is not supported");
  if (count > kMaxArrayElements || count > cursor.left())
    return Fail(ErrorCode::kInvalidArgument, "an array of " + std::to_string(count) +
                                                 " elements, more than the file or the limit (" +
                                                 std::to_string(kMaxArrayElements) + ") allows");
  if (type == kString) return ReadElements<std::string>(count, out, [&] { return cursor.String(kMaxStringBytes); });
  if (type == kFloat32 || type == kFloat64)
    return ReadElements<double>(count, out, [&] { return ReadReal(cursor, type); });
  return ReadElements<int64_t>(count, out, [&] { return ReadWhole(cursor, type); });
}

Status ReadValue(GgufCursor& cursor, GgufValue& out) {
  TM_ASSIGN_OR_RETURN(const uint32_t type, cursor.Number<uint32_t>());
  if (type == kArray) return ReadArray(cursor, out);
  if (type == kString) {
    TM_ASSIGN_OR_RETURN(out, cursor.String(kMaxStringBytes));
    return Ok();
  }
  if (type == kFloat32 || type == kFloat64) {
    TM_ASSIGN_OR_RETURN(out, ReadReal(cursor, type));
    return Ok();
  }
  TM_ASSIGN_OR_RETURN(const int64_t whole, ReadWhole(cursor, type));
  if (type == kBool && whole > 1) return Fail(ErrorCode::kInvalidArgument, "a bool that is " + std::to_string(whole));
  if (type == kBool) {
    out = whole == 1;
  } else {
    out = whole;
  }
  return Ok();
}

}  // namespace

Status GgufCursor::Read(std::span<std::byte> destination) {
  if (destination.size() > left())
    return Fail(ErrorCode::kInvalidArgument, "file truncated: " + std::to_string(position_ + destination.size()) +
                                                 " bytes expected at least, " + std::to_string(file_.bytes()) +
                                                 " found");
  while (!destination.empty()) {
    if (position_ >= window_start_ + window_.size()) {
      window_.resize(std::min(kWindowBytes, left()));
      window_start_ = position_;
      TM_RETURN_IF_ERROR(file_.ReadAt(position_, window_));
    }
    const uint64_t from = position_ - window_start_;
    const size_t count = std::min<uint64_t>(destination.size(), window_.size() - from);
    std::memcpy(destination.data(), window_.data() + from, count);
    destination = destination.subspan(count);
    position_ += count;
  }
  return Ok();
}

Result<std::string> GgufCursor::String(uint64_t limit_bytes) {
  TM_ASSIGN_OR_RETURN(const uint64_t length, Number<uint64_t>());
  if (length > limit_bytes || length > left())
    return Fail(ErrorCode::kInvalidArgument, "a string of " + std::to_string(length) +
                                                 " bytes, more than the file or the limit (" +
                                                 std::to_string(limit_bytes) + ") allows");
  std::string text(length, '\0');
  TM_RETURN_IF_ERROR(Read(std::as_writable_bytes(std::span(text))));
  return text;
}

Result<GgufMetadata> GgufMetadata::Read(GgufCursor& cursor, uint64_t count, const std::string& path) {
  const auto refuse = [&](const std::string& what) {
    return Fail(ErrorCode::kInvalidArgument,
                what + " ('" + path + "'): the file is damaged, fetch or convert it again");
  };
  if (count > kMaxKeys)
    return refuse(std::to_string(count) + " metadata keys (at most " + std::to_string(kMaxKeys) + ")");
  GgufMetadata metadata;
  metadata.path_ = path;
  std::string last = "the header";
  for (uint64_t i = 0; i < count; ++i) {
    auto key = cursor.String(kMaxKeys);
    if (!key) return refuse("after " + last + ": " + key.error().message);
    if (!simdjson::validate_utf8(*key)) return refuse("after " + last + ": a key that is not UTF-8");
    last = "key '" + *key + "'";
    GgufValue value;
    if (const Status status = ReadValue(cursor, value); !status) return refuse(last + " has " + status.error().message);
    if (!metadata.values_.emplace(std::move(*key), std::move(value)).second) return refuse(last + " is there twice");
    if (cursor.position() > kMaxMetadataBytes)
      return refuse("more than " + FormatBytes(kMaxMetadataBytes) + " of metadata");
  }
  return metadata;
}

Result<int64_t> GgufMetadata::GetCount(const std::string& key) const {
  TM_ASSIGN_OR_RETURN(const int64_t value, Get<int64_t>(key));
  if (value < 1 || value > std::numeric_limits<int32_t>::max())
    return Fail(ErrorCode::kInvalidArgument, "key '" + key + "' is " + std::to_string(value) + ", out of range ('" +
                                                 path_ + "'): the file is damaged, fetch or convert it again");
  return value;
}

Error GgufMetadata::Missing(const std::string& key) const {
  return {ErrorCode::kInvalidArgument, "key '" + key + (Has(key) ? "' has another kind of value" : "' is missing") +
                                           " ('" + path_ + "'): convert the model again"};
}

}  // namespace tidemill::data
