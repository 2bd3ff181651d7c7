#include "data/gguf_types.h"

#include <array>
#include <cstring>
#include <string_view>

#include "base/check.h"
#include "base/dtype.h"

namespace tidemill::data {
namespace {

constexpr size_t kQuantized = 32;  // elements of a quantised block

// ggml's names by number, so that a refusal says what was found. Empty: removed from the format or never there.
constexpr std::array<std::string_view, 40> kNames{
    "F32",    "F16",   "Q4_0",  "Q4_1",   "",      "",      "Q5_0",    "Q5_1",   "Q8_0",    "Q8_1",
    "Q2_K",   "Q3_K",  "Q4_K",  "Q5_K",   "Q6_K",  "Q8_K",  "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S",
    "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "I8",    "I16",   "I32",     "I64",    "F64",     "IQ1_M",
    "BF16",   "",      "",      "",       "TQ1_0", "TQ2_0", "",        "",       "",        "MXFP4"};

template <typename T>
T Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

float Half(const std::byte* from) { return F16ToFloat(Load<uint16_t>(from)); }

void Q8Block(const std::byte* block, float* out) {
  const float scale = Half(block);
  for (size_t i = 0; i < kQuantized; ++i) out[i] = static_cast<float>(Load<int8_t>(block + 2 + i)) * scale;
}

// x = (q - zero) * scale + minimum; Q4_0 has a zero of 8 and no minimum, Q4_1 the other way round.
void Q4Block(const std::byte* nibbles, float zero, float scale, float minimum, float* out) {
  for (size_t i = 0; i < kQuantized / 2; ++i) {
    const auto byte = std::to_integer<unsigned>(nibbles[i]);
    out[i] = (static_cast<float>(byte & 15U) - zero) * scale + minimum;
    out[i + kQuantized / 2] = (static_cast<float>(byte >> 4) - zero) * scale + minimum;
  }
}

// Q4_0 has no minimum at all: adding +0 would turn -0 into +0.
void Q40Block(const std::byte* block, float* out) { Q4Block(block + 2, 8.0F, Half(block), -0.0F, out); }
void Q41Block(const std::byte* block, float* out) { Q4Block(block + 4, 0.0F, Half(block), Half(block + 2), out); }

template <typename Block>
void EachBlock(GgufType type, const std::byte* from, std::span<float> values, const Block& block) {
  const GgufBlock size = BlockOf(type);
  for (size_t i = 0; i < values.size(); i += size.elements, from += size.bytes) block(from, values.data() + i);
}

}  // namespace

GgufBlock BlockOf(GgufType type) {
  switch (type) {
    case GgufType::kF32:
      return {1, 4};
    case GgufType::kF16:
    case GgufType::kBf16:
      return {1, 2};
    case GgufType::kQ4_0:
      return {kQuantized, 18};
    case GgufType::kQ4_1:
      return {kQuantized, 20};
    case GgufType::kQ8_0:
      return {kQuantized, 34};
  }
  TM_CHECK(false);
}

Result<GgufType> GgufTypeFromNumber(uint32_t number) {
  for (const GgufType type :
       {GgufType::kF32, GgufType::kF16, GgufType::kQ4_0, GgufType::kQ4_1, GgufType::kQ8_0, GgufType::kBf16}) {
    if (static_cast<uint32_t>(type) == number) return type;
  }
  const std::string_view name = number < kNames.size() ? kNames[number] : "";
  return Fail(ErrorCode::kInvalidArgument, "encoding " +
                                               (name.empty() ? "number " + std::to_string(number) : std::string(name)) +
                                               " is not supported: use F32, F16, BF16, Q8_0, Q4_0 or Q4_1");
}

void Dequantize(GgufType type, std::span<const std::byte> blocks, std::span<float> values) {
  const GgufBlock size = BlockOf(type);
  TM_CHECK(values.size() % size.elements == 0 && blocks.size() == values.size() / size.elements * size.bytes);
  const std::byte* from = blocks.data();
  switch (type) {
    case GgufType::kF32:
      if (!values.empty()) std::memcpy(values.data(), from, blocks.size());
      return;
    case GgufType::kF16:
      return EachBlock(type, from, values, [](const std::byte* at, float* out) { *out = Half(at); });
    case GgufType::kBf16:
      return EachBlock(type, from, values,
                       [](const std::byte* at, float* out) { *out = Bf16ToFloat(Load<uint16_t>(at)); });
    case GgufType::kQ4_0:
      return EachBlock(type, from, values, Q40Block);
    case GgufType::kQ4_1:
      return EachBlock(type, from, values, Q41Block);
    case GgufType::kQ8_0:
      return EachBlock(type, from, values, Q8Block);
  }
}

}  // namespace tidemill::data
