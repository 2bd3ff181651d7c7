// GGUF files put together by hand, right or wrong.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/gguf_reader.h"
#include "tests/base/file_fixture.h"

namespace tidemill::data {

template <typename T>
std::string Raw(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}
template <typename T>
std::string RawAll(const std::vector<T>& values) {
  std::string bytes;
  for (const T value : values) bytes += Raw(value);
  return bytes;
}
inline std::string RawText(std::string_view text) { return Raw(uint64_t{text.size()}) + std::string(text); }

class GgufBuilder {
 public:
  // A key with a value of the format's type number `type`, already in bytes.
  GgufBuilder& Key(std::string_view key, uint32_t type, const std::string& value) {
    keys_.push_back(RawText(key) + Raw(type) + value);
    return *this;
  }
  GgufBuilder& Whole(std::string_view key, uint32_t value) { return Key(key, 4, Raw(value)); }
  GgufBuilder& Real(std::string_view key, float value) { return Key(key, 6, Raw(value)); }
  GgufBuilder& Bool(std::string_view key, bool value) { return Key(key, 7, std::string(1, value ? '\1' : '\0')); }
  GgufBuilder& Text(std::string_view key, std::string_view value) { return Key(key, 8, RawText(value)); }
  GgufBuilder& Texts(std::string_view key, const std::vector<std::string>& values) {
    std::string bytes = Raw(uint32_t{8}) + Raw(uint64_t{values.size()});
    for (const auto& value : values) bytes += RawText(value);
    return Key(key, 9, bytes);
  }
  GgufBuilder& Wholes(std::string_view key, const std::vector<int32_t>& values) {
    return Key(key, 9, Raw(uint32_t{5}) + Raw(uint64_t{values.size()}) + RawAll(values));
  }

  // `shape` is row-major; the payload lies at the next aligned offset, or at `offset`.
  GgufBuilder& Tensor(std::string_view name, const std::vector<uint64_t>& shape, uint32_t type,
                      const std::string& payload, int64_t offset = -1) {
    data_.resize((data_.size() + alignment - 1) / alignment * alignment, '\0');
    std::string entry = RawText(name) + Raw(static_cast<uint32_t>(shape.size()));
    for (size_t i = shape.size(); i-- > 0;) entry += Raw(shape[i]);
    entry += Raw(type) + Raw(offset < 0 ? uint64_t{data_.size()} : static_cast<uint64_t>(offset));
    tensors_.push_back(entry);
    data_ += payload;
    return *this;
  }
  GgufBuilder& Floats(std::string_view name, const std::vector<uint64_t>& shape, const std::vector<float>& values) {
    return Tensor(name, shape, 0, RawAll(values));
  }

  std::string Build() const {
    std::string out = "GGUF" + Raw(version) + Raw(uint64_t{tensors_.size()}) + Raw(uint64_t{keys_.size()});
    for (const auto& key : keys_) out += key;
    for (const auto& tensor : tensors_) out += tensor;
    out.resize((out.size() + alignment - 1) / alignment * alignment, '\0');
    return out + data_;
  }

  uint32_t version = 3;
  uint64_t alignment = 32;  // of what is built; the key general.alignment is the test's to add

 private:
  std::vector<std::string> keys_, tensors_;
  std::string data_;
};

}  // namespace tidemill::data
