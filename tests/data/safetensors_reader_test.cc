#include "data/safetensors_reader.h"

#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "tests/data/safetensors_fixture.h"

namespace tidemill::data {
namespace {

using SafetensorsReaderTest = SafetensorsTest;

template <typename Element>
std::string Bytes(const std::vector<Element>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Element)};
}

std::string Vector(const std::string& dtype, size_t count, size_t bytes) {
  return R"({"w":{"dtype":")" + dtype + R"(","shape":[)" + std::to_string(count) + R"(],"data_offsets":[0,)" +
         std::to_string(bytes) + "]}}";
}

std::vector<float> Floats(const SafetensorsReader& reader, const TensorEntry& tensor, uint64_t first, size_t count) {
  std::vector<float> values(count);
  EXPECT_TRUE(reader.ReadAsFloat(tensor, first, values).has_value());
  return values;
}

TEST_F(SafetensorsReaderTest, GivesNamesShapesAndPlacesInTheOrderOfTheBytes) {
  const std::string header = R"({"__metadata__":{"format":"pt","by":"h\u00e9"},)"
                             R"("late":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},)"
                             R"("scalar":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                             R"("empty":{"dtype":"I64","shape":[0,7],"data_offsets":[16,16]}}   )";
  const auto reader = SafetensorsReader::Open(Write("a.safetensors", FileOf(header, std::string(16, 'x')))).value();
  ASSERT_EQ(reader.tensors().size(), 3U);
  EXPECT_EQ(reader.tensors()[0].name, "scalar");
  EXPECT_EQ(reader.tensors()[0].elements, 1U);
  EXPECT_EQ(reader.tensors()[1].name, "late");
  EXPECT_EQ(reader.tensors()[1].dtype, DType::kBf16);
  EXPECT_EQ(reader.tensors()[1].shape, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(reader.tensors()[1].offset_bytes, 8 + header.size() + 4);
  EXPECT_EQ(reader.tensors()[1].bytes, 12U);
  EXPECT_EQ(reader.tensors()[2].elements, 0U);
  EXPECT_EQ(reader.metadata(), (Metadata{{"format", "pt"}, {"by", "h\u00e9"}}));
  EXPECT_EQ(reader.Find("late"), &reader.tensors()[1]);
  EXPECT_EQ(reader.Find("absent"), nullptr);
}

TEST_F(SafetensorsReaderTest, WidensEveryFloatingTypeFromAnyElement) {
  const std::vector<float> values{1.0F, -2.5F, 0.0F, 65504.0F, 3.0F};
  const std::vector<uint16_t> bf16{0x3f80, 0xc020, 0x0000, 0x7f80, 0x4040}, f16{0x3c00, 0xc100, 0x0001, 0x7bff, 0x4200};
  const std::vector<double> f64{1.0, -2.5, 1e300, 1e-50, 0.1};
  const auto open = [&](const std::string& dtype, const std::string& payload) {
    return SafetensorsReader::Open(Write(dtype, FileOf(Vector(dtype, 5, payload.size()), payload))).value();
  };
  const auto read = [](const SafetensorsReader& reader) { return Floats(reader, reader.tensors()[0], 1, 4); };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(read(open("F32", Bytes(values))), (std::vector<float>{-2.5F, 0.0F, 65504.0F, 3.0F}));
  EXPECT_EQ(read(open("BF16", Bytes(bf16))), (std::vector<float>{-2.5F, 0.0F, kInfinity, 3.0F}));
  EXPECT_EQ(read(open("F16", Bytes(f16))), (std::vector<float>{-2.5F, 0x1p-24F, 65504.0F, 3.0F}));
  EXPECT_EQ(read(open("F64", Bytes(f64))), (std::vector<float>{-2.5F, kInfinity, 0.0F, 0.1F}));
}

TEST_F(SafetensorsReaderTest, RefusesToReadIntegersAsWeights) {
  const auto reader = SafetensorsReader::Open(Write("i.safetensors", FileOf(Vector("I32", 1, 4), "1234"))).value();
  std::vector<float> value(1);
  const Status status = reader.ReadAsFloat(reader.tensors()[0], 0, value);
  ASSERT_FALSE(status.has_value());
  EXPECT_TRUE(Contains(status.error().message, "tensor 'w' holds I32")) << status.error().message;
}

// Header lengths 8k+1 to 8k+7 put the payload on any byte.
TEST_F(SafetensorsReaderTest, TakesPayloadsThatStartAtAnyByte) {
  std::vector<uint16_t> bf16(50'000);  // more than one buffer
  for (size_t i = 0; i < bf16.size(); ++i) bf16[i] = static_cast<uint16_t>(0x3f00 + i % 251);
  for (size_t padding = 0; padding < 8; ++padding) {
    const std::string header = Vector("BF16", bf16.size(), 2 * bf16.size()) + std::string(padding, ' ');
    const auto reader = SafetensorsReader::Open(Write("odd.safetensors", FileOf(header, Bytes(bf16)))).value();
    const auto values = Floats(reader, reader.tensors()[0], 0, bf16.size());
    for (size_t i = 0; i < bf16.size(); ++i) ASSERT_EQ(values[i], Bf16ToFloat(bf16[i])) << padding << " " << i;
  }
}

TEST_F(SafetensorsReaderTest, ServesManyThreadsAtOnce) {
  std::vector<uint16_t> bf16(60'000);
  for (size_t i = 0; i < bf16.size(); ++i) bf16[i] = static_cast<uint16_t>(0x3f00 + i % 251);
  const std::string header = Vector("BF16", bf16.size(), 2 * bf16.size());
  const auto reader = SafetensorsReader::Open(Write("m.safetensors", FileOf(header, Bytes(bf16)))).value();
  std::vector<std::vector<float>> seen(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < seen.size(); ++t) {
    threads.emplace_back([&, t] { seen[t] = Floats(reader, *reader.Find("w"), t * 10'000, 30'000); });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < seen.size(); ++t) {
    for (size_t i = 0; i < seen[t].size(); ++i)
      ASSERT_EQ(seen[t][i], Bf16ToFloat(bf16[t * 10'000 + i])) << t << " " << i;
  }
}

TEST_F(SafetensorsReaderTest, ReadsAPieceAsBytes) {
  const auto reader = SafetensorsReader::Open(Write("b.safetensors", FileOf(Vector("U8", 6, 6), "abcdef"))).value();
  std::string piece(3, ' ');
  ASSERT_TRUE(reader.ReadBytes(reader.tensors()[0], 2, std::as_writable_bytes(std::span(piece))).has_value());
  EXPECT_EQ(piece, "cde");
}

TEST_F(SafetensorsReaderTest, NamesAFileThatShrankAfterItWasOpened) {
  const std::string path = Write("s.safetensors", FileOf(Vector("U8", 6, 6), "abcdef"));
  const auto reader = SafetensorsReader::Open(path).value();
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  std::string all(6, ' ');
  const Status status = reader.ReadBytes(reader.tensors()[0], 0, std::as_writable_bytes(std::span(all)));
  ASSERT_FALSE(status.has_value());
  EXPECT_TRUE(Contains(status.error().message, path)) << status.error().message;
}

}  // namespace
}  // namespace tidemill::data
