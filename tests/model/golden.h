// The tiny models of tests/golden/models, and what the reference makes of them.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/token_batch.h"
#include "model/config.h"

namespace tidemill::model {

inline std::string ReadText(const std::string& path) {
  const std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Values in fp32, exactly, whatever the file's dtype.
using NamedTensors = std::map<std::string, std::vector<float>>;

inline NamedTensors ReadSafetensors(const std::string& path) {
  const std::string bytes = ReadText(path);
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
  const auto header = nlohmann::json::parse(bytes.substr(8, header_bytes));
  NamedTensors tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    const DType dtype = DTypeFromSafetensorsName(entry["dtype"].get<std::string>()).value();
    const size_t begin = entry["data_offsets"][0], end = entry["data_offsets"][1];
    std::vector<float>& values = tensors[name];
    values.resize((end - begin) / SizeOf(dtype));
    for (size_t i = 0; i < values.size(); ++i) {
      const char* const at = bytes.data() + 8 + header_bytes + begin + i * SizeOf(dtype);
      uint16_t half = 0;
      if (dtype == DType::kF32) {
        std::memcpy(&values[i], at, sizeof(float));
      } else {
        std::memcpy(&half, at, sizeof half);
        values[i] = dtype == DType::kBf16 ? Bf16ToFloat(half) : F16ToFloat(half);
      }
    }
  }
  return tensors;
}

struct Golden {
  explicit Golden(const std::string& name) {
    const std::string folder = std::string(TIDEMILL_SOURCE_DIR) + "/tests/golden/models/" + name + "/";
    config = ParseModelConfig(ReadText(folder + "config.json"), name).value();
    weights = ReadSafetensors(folder + "model.safetensors");
    expected = nlohmann::json::parse(ReadText(folder + "golden.json"));
  }

  // The sequences of one micro-batch without their padding, each row's target the next row's label.
  TokenBatch Batch(size_t step, size_t micro) const {
    const auto& data = expected["data"][step][micro];
    TokenBatch batch;
    batch.offsets.push_back(0);
    for (size_t s = 0; s < data["input_ids"].size(); ++s) {
      const std::vector<int32_t> ids = data["input_ids"][s], labels = data["labels"][s];
      size_t length = ids.size();
      if (data.contains("attention_mask"))
        while (data["attention_mask"][s][length - 1] == 0) --length;
      for (size_t t = 0; t < length; ++t) {
        const int32_t label = t + 1 < length ? labels[t + 1] : -100;
        batch.ids.push_back(ids[t]);
        batch.positions.push_back(static_cast<int32_t>(t));
        batch.targets.push_back(label < 0 ? kIgnoredTarget : label);
        batch.supervised += label < 0 ? 0 : 1;
      }
      batch.offsets.push_back(static_cast<int32_t>(batch.ids.size()));
    }
    return batch;
  }

  ModelConfig config;
  NamedTensors weights;
  nlohmann::json expected;
};

}  // namespace tidemill::model
