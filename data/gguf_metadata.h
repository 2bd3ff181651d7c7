// The key-value part of a GGUF file, and the bounded cursor that the file's front is read with.
//
//   Limits   65,536 keys; strings of 64 MiB; arrays of 16 Mi elements, not nested; 1 GiB in all. Nothing is allocated
//            for a count before the file has shown that it holds that many bytes.
//   Errors   kInvalidArgument naming file and key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "data/input_file.h"

namespace tidemill::data {

// Reads a file's front in order, through a window of 256 KiB.
class GgufCursor {
 public:
  explicit GgufCursor(const InputFile& file) : file_(file) {}

  Status Read(std::span<std::byte> destination);
  // A little-endian number.
  template <typename T>
  Result<T> Number() {
    T value;
    TM_RETURN_IF_ERROR(Read(std::as_writable_bytes(std::span(&value, 1))));
    return value;
  }
  // A length of 8 bytes and as many characters.
  Result<std::string> String(uint64_t limit_bytes);

  uint64_t position() const { return position_; }
  uint64_t left() const { return file_.bytes() - position_; }

 private:
  const InputFile& file_;
  uint64_t position_ = 0;
  std::vector<std::byte> window_;
  uint64_t window_start_ = 0;
};

// Integers and bools of every width become int64, floats become double.
using GgufValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                               std::vector<std::string>>;

class GgufMetadata {
 public:
  // Reads `count` pairs at the cursor.
  static Result<GgufMetadata> Read(GgufCursor& cursor, uint64_t count, const std::string& path);

  // nullptr when the key is absent or has another kind of value.
  template <typename T>
  const T* Find(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : std::get_if<T>(&found->second);
  }
  bool Has(const std::string& key) const { return values_.contains(key); }
  // As Find, with an error that names key and file.
  template <typename T>
  Result<T> Get(const std::string& key) const {
    if (const T* value = Find<T>(key)) return *value;
    return tl::make_unexpected(Missing(key));
  }
  // A whole number from 1 to 2^31 - 1: a size, a count.
  Result<int64_t> GetCount(const std::string& key) const;

  const std::string& path() const { return path_; }

 private:
  Error Missing(const std::string& key) const;

  std::string path_;
  std::unordered_map<std::string, GgufValue> values_;
};

}  // namespace tidemill::data
