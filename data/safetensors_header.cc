#include "data/safetensors_header.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <unordered_set>

#include "data/json_text.h"

namespace tidemill::data {
namespace {

namespace dom = simdjson::dom;

static_assert(std::endian::native == std::endian::little, "safetensors and GGUF are little-endian on disk");

tl::unexpected<Error> Refuse(const std::string& what, const std::string& path) {
  return Fail(ErrorCode::kInvalidArgument, what + " ('" + path + "'): the file is damaged, fetch or save it again");
}

std::string Number(uint64_t value) { return std::to_string(value); }

// A tensor's bytes relative to the end of the header, as the JSON says it.
struct Range {
  uint64_t begin = 0, end = 0;
};

std::optional<std::vector<uint64_t>> UnsignedNumbers(dom::element value) {
  dom::array items;
  if (value.get_array().get(items) != simdjson::SUCCESS) return std::nullopt;
  std::vector<uint64_t> numbers;
  for (const dom::element item : items) {
    uint64_t number = 0;
    if (item.get_uint64().get(number) != simdjson::SUCCESS) return std::nullopt;
    numbers.push_back(number);
  }
  return numbers;
}

Status ParseMetadata(dom::element value, const std::string& path, Metadata& metadata) {
  dom::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) return Refuse("__metadata__ is not an object", path);
  std::unordered_set<std::string_view> seen;
  for (const auto& [key, text] : object) {
    std::string_view string;
    if (text.get_string().get(string) != simdjson::SUCCESS)
      return Refuse("__metadata__ '" + std::string(key) + "' is not a string", path);
    if (!seen.insert(key).second) return Refuse("__metadata__ has the key '" + std::string(key) + "' twice", path);
    metadata.emplace_back(key, string);
  }
  return Ok();
}

// Reads the three keys of one tensor: each there once, nothing else.
Status ReadFields(dom::object fields, const std::string& path, TensorEntry& entry, Range& range) {
  const std::string tensor = "tensor '" + entry.name + "'";
  unsigned seen = 0;
  for (const auto& [key, value] : fields) {
    const unsigned bit = key == "dtype" ? 1 : key == "shape" ? 2 : key == "data_offsets" ? 4 : 0;
    if (bit == 0) return Refuse(tensor + " has the unknown key '" + std::string(key) + "'", path);
    if ((seen & bit) != 0) return Refuse(tensor + " has the key '" + std::string(key) + "' twice", path);
    seen |= bit;
    if (bit == 1) {
      std::string_view name;
      if (value.get_string().get(name) != simdjson::SUCCESS)
        return Refuse(tensor + " has a dtype that is no string", path);
      const auto dtype = DTypeFromSafetensorsName(name);
      if (!dtype)
        return Fail(ErrorCode::kInvalidArgument, tensor + " has the dtype '" + std::string(name) +
                                                     "', which is not supported ('" + path + "'): convert it");
      entry.dtype = *dtype;
      continue;
    }
    const auto numbers = UnsignedNumbers(value);
    if (!numbers) return Refuse(tensor + " has a " + std::string(key) + " that is not a list of whole numbers", path);
    if (bit == 2) {
      entry.shape = *numbers;
    } else {
      if (numbers->size() != 2) return Refuse(tensor + " has data_offsets that are not two numbers", path);
      range = {(*numbers)[0], (*numbers)[1]};
    }
  }
  if (seen != 7) return Refuse(tensor + " lacks dtype, shape or data_offsets", path);
  return Ok();
}

Status ParseTensor(dom::element value, const std::string& path, uint64_t data_start, TensorEntry& entry) {
  dom::object fields;
  const std::string tensor = "tensor '" + entry.name + "'";
  if (value.get_object().get(fields) != simdjson::SUCCESS) return Refuse(tensor + " is not an object", path);
  Range range;
  TM_RETURN_IF_ERROR(ReadFields(fields, path, entry, range));
  const auto elements = ElementsOf(entry.shape);
  uint64_t bytes = 0;
  if (!elements || __builtin_mul_overflow(*elements, uint64_t{SizeOf(entry.dtype)}, &bytes))
    return Refuse(tensor + " has a shape whose product does not fit 63 bits", path);
  if (range.begin > range.end || range.end > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) - data_start)
    return Refuse(tensor + " has data_offsets [" + Number(range.begin) + ", " + Number(range.end) + "] out of range",
                  path);
  if (range.end - range.begin != bytes)
    return Refuse(tensor + " has " + Number(bytes) + " bytes by its shape and " + Number(range.end - range.begin) +
                      " by its data_offsets",
                  path);
  entry.elements = *elements;
  entry.offset_bytes = data_start + range.begin;
  entry.bytes = bytes;
  return Ok();
}

// Puts the tensors in the order of their bytes and checks that they tile the rest of the file.
Status CheckLayout(std::vector<TensorEntry>& tensors, uint64_t data_start, uint64_t file_bytes,
                   const std::string& path) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::pair(a.offset_bytes, a.bytes) < std::pair(b.offset_bytes, b.bytes);
  });
  uint64_t end = data_start;
  const TensorEntry* before = nullptr;
  for (const TensorEntry& entry : tensors) {
    if (entry.offset_bytes < end)
      return Refuse("tensors '" + before->name + "' and '" + entry.name + "' overlap", path);
    if (entry.offset_bytes > end)
      return Refuse("hole of " + Number(entry.offset_bytes - end) + " bytes before tensor '" + entry.name + "'", path);
    end += entry.bytes;
    before = &entry;
  }
  if (file_bytes < end)
    return Refuse("file truncated: " + Number(end) + " bytes expected, " + Number(file_bytes) + " found", path);
  if (file_bytes > end)
    return Refuse("file too long: " + Number(end) + " bytes expected, " + Number(file_bytes) + " found", path);
  return Ok();
}

void AppendNumbers(std::string& out, const std::vector<uint64_t>& numbers) {
  out += '[';
  for (size_t i = 0; i < numbers.size(); ++i) out += (i == 0 ? "" : ",") + Number(numbers[i]);
  out += ']';
}

void AppendTensor(std::string& json, const TensorSpec& spec, uint64_t begin, uint64_t end) {
  json += ',';
  AppendJsonString(json, spec.name, true);
  json += ":{\"dtype\":\"" + std::string(SafetensorsName(spec.dtype)) + "\",\"shape\":";
  AppendNumbers(json, spec.shape);
  json += ",\"data_offsets\":";
  AppendNumbers(json, {begin, end});
  json += '}';
}

}  // namespace

Result<uint64_t> ElementsOf(const std::vector<uint64_t>& shape) {
  int64_t product = 1;
  bool empty = false, overflow = false;
  for (const uint64_t dimension : shape) {
    empty |= dimension == 0;
    overflow |= __builtin_mul_overflow(product, dimension, &product);
  }
  // A zero anywhere makes the tensor empty, however the partial products behave.
  if (empty) return 0U;
  if (overflow) return Fail(ErrorCode::kInvalidArgument, "the shape's product does not fit 63 bits");
  return static_cast<uint64_t>(product);
}

std::string ShapeText(const std::vector<uint64_t>& shape) {
  std::string text = "[";
  for (const uint64_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

uint64_t BytesOf(const TensorSpec& spec) { return ElementsOf(spec.shape).value_or(0) * SizeOf(spec.dtype); }

Result<SafetensorsHeader> ParseSafetensorsHeader(std::string_view json, uint64_t file_bytes, const std::string& path) {
  if (!json.starts_with('{')) return Refuse("the header does not start with '{'", path);
  dom::parser parser;
  dom::object root;
  if (const auto error = parser.parse(json.data(), json.size()).get_object().get(root); error != simdjson::SUCCESS)
    return Refuse(std::string("the header is not valid JSON: ") + simdjson::error_message(error), path);
  SafetensorsHeader header;
  std::unordered_set<std::string_view> seen;
  for (const auto& [name, value] : root) {
    if (!seen.insert(name).second) return Refuse("the header has the key '" + std::string(name) + "' twice", path);
    if (name == "__metadata__") {
      TM_RETURN_IF_ERROR(ParseMetadata(value, path, header.metadata));
      continue;
    }
    TensorEntry entry;
    entry.name = name;
    TM_RETURN_IF_ERROR(ParseTensor(value, path, 8 + json.size(), entry));
    header.tensors.push_back(std::move(entry));
  }
  TM_RETURN_IF_ERROR(CheckLayout(header.tensors, 8 + json.size(), file_bytes, path));
  return header;
}

Result<std::string> FormatSafetensorsHeader(const std::vector<TensorSpec>& tensors, const Metadata& extra) {
  std::string json(8, '\0');
  json += R"({"__metadata__":{"format":"pt")";
  for (const auto& [key, value] : extra) {
    json += ',';
    AppendJsonString(json, key, true);
    json += ':';
    AppendJsonString(json, value, true);
  }
  json += '}';
  uint64_t at = 0;
  std::unordered_set<std::string_view> seen{"__metadata__"};
  for (const TensorSpec& spec : tensors) {
    if (!seen.insert(spec.name).second)
      return Fail(ErrorCode::kInvalidArgument, "tensor '" + spec.name + "' is there twice");
    const auto elements = ElementsOf(spec.shape);
    uint64_t bytes = 0, end = 0;
    if (!elements || __builtin_mul_overflow(*elements, uint64_t{SizeOf(spec.dtype)}, &bytes) ||
        __builtin_add_overflow(at, bytes, &end))
      return Fail(ErrorCode::kInvalidArgument, "tensor '" + spec.name + "' is too large");
    AppendTensor(json, spec, at, end);
    at = end;
  }
  json += '}';
  json.resize((json.size() + 7) / 8 * 8, ' ');
  const uint64_t header_bytes = json.size() - 8;
  if (header_bytes > kMaxHeaderBytes)
    return Fail(ErrorCode::kInvalidArgument, "a header of " + Number(header_bytes) + " bytes: use more shards");
  std::memcpy(json.data(), &header_bytes, sizeof(header_bytes));
  return json;
}

}  // namespace tidemill::data
