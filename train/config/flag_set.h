// Values of flags that have been checked against their table: reading one cannot fail.
//
//   Ownership   refers to the table, which must outlive it; owns the values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/config/flag_spec.h"

namespace tidemill::train {

class FlagSet {
 public:
  // Every value's name must be in the table and its text must have passed CheckFlagText.
  explicit FlagSet(std::span<const FlagSpec> table, std::vector<FlagValue> values = {})
      : table_(table), values_(std::move(values)) {}

  std::span<const FlagSpec> table() const { return table_; }
  // In the order given, repeats included.
  const std::vector<FlagValue>& values() const { return values_; }

  bool Has(std::string_view name) const;
  // The last value given, else the table's default.
  std::string Text(std::string_view name) const;
  std::vector<std::string> Texts(std::string_view name) const;  // list flags: all values
  bool Bool(std::string_view name) const;
  double Number(std::string_view name) const;
  int64_t Integer(std::string_view name) const;
  uint64_t Bytes(std::string_view name) const;
  // Nothing for "auto" or no value.
  std::optional<int64_t> MaybeInteger(std::string_view name) const;
  std::optional<uint64_t> MaybeBytes(std::string_view name) const;

 protected:
  void Add(FlagValue value) { values_.push_back(std::move(value)); }

 private:
  bool IsSet(std::string_view name) const;

  std::span<const FlagSpec> table_;
  std::vector<FlagValue> values_;
};

}  // namespace tidemill::train
