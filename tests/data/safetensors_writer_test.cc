#include "data/safetensors_writer.h"

#include <limits>
#include <string>
#include <vector>

#include "data/json_text.h"
#include "tests/data/safetensors_fixture.h"

namespace tidemill::data {
namespace {

using SafetensorsWriterTest = SafetensorsTest;

std::span<const std::byte> AsBytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST_F(SafetensorsWriterTest, WritesTheHeaderOfPythonsJsonDumps) {
  auto writer = SafetensorsWriter::Create(Path("m.safetensors"),
                                          {{"a.weight", DType::kBf16, {2, 1}},
                                           {"s\u00e9\U0001F600\x7f", DType::kF32, {}},
                                           {"none", DType::kU8, {0, 3}}},
                                          {{"step", "7"}})
                    .value();
  ASSERT_TRUE(writer.Append(AsBytes("abc")).has_value());
  ASSERT_TRUE(writer.Append(AsBytes("d")).has_value());
  ASSERT_TRUE(writer.AppendFloats(std::vector<float>{1.0F}).has_value());
  EXPECT_EQ(writer.current(), nullptr);
  ASSERT_TRUE(writer.Commit().has_value());
  std::string header = R"({"__metadata__":{"format":"pt","step":"7"},"a.weight":{"dtype":"BF16","shape":[2,1],)"
                       R"("data_offsets":[0,4]},"s\u00e9\ud83d\ude00\u007f":{"dtype":"F32","shape":[],)"
                       R"("data_offsets":[4,8]},"none":{"dtype":"U8","shape":[0,3],"data_offsets":[8,8]}})";
  header.append((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(Read("m.safetensors"), FileOf(header, std::string("abcd\0\0\x80\x3f", 8)));
}

TEST_F(SafetensorsWriterTest, RoundsFloatsToTheTensorsTypeNearestEven) {
  auto writer =
      SafetensorsWriter::Create(Path("m.safetensors"), {{"b", DType::kBf16, {3}}, {"h", DType::kF16, {3}}}).value();
  // Ties of bf16 (8 bits) and fp16 (11 bits) between an even and an odd neighbour, and one that is no tie.
  ASSERT_TRUE(writer.AppendFloats(std::vector<float>{1.00390625F, 1.01171875F, 1.0039064F}).has_value());
  ASSERT_TRUE(writer.AppendFloats(std::vector<float>{1.00048828125F, 1.00146484375F, -65504.0F}).has_value());
  ASSERT_TRUE(writer.Commit().has_value());
  const auto reader = SafetensorsReader::Open(Path("m.safetensors")).value();
  std::vector<float> b(3), h(3);
  ASSERT_TRUE(reader.ReadAsFloat(*reader.Find("b"), 0, b).has_value());
  ASSERT_TRUE(reader.ReadAsFloat(*reader.Find("h"), 0, h).has_value());
  EXPECT_EQ(b, (std::vector<float>{1.0F, 1.015625F, 1.0078125F}));
  EXPECT_EQ(h, (std::vector<float>{1.0F, 1.001953125F, -65504.0F}));
}

TEST_F(SafetensorsWriterTest, WhatIsWrittenInPiecesReadsBackEqual) {
  std::vector<float> values(100'003);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 256);
  auto writer =
      SafetensorsWriter::Create(Path("m.safetensors"), {{"a", DType::kF32, {7}}, {"b", DType::kBf16, {values.size()}}})
          .value();
  ASSERT_TRUE(writer.AppendFloats(std::span(values).first(7)).has_value());
  EXPECT_EQ(writer.current()->name, "b");
  ASSERT_TRUE(writer.AppendFloats(std::span(values).first(70'001)).has_value());
  ASSERT_TRUE(writer.AppendFloats(std::span(values).subspan(70'001)).has_value());
  ASSERT_TRUE(writer.Commit().has_value());
  const auto reader = SafetensorsReader::Open(Path("m.safetensors")).value();
  std::vector<float> back(values.size());
  ASSERT_TRUE(reader.ReadAsFloat(*reader.Find("b"), 0, back).has_value());
  EXPECT_EQ(back, values);
}

TEST_F(SafetensorsWriterTest, RefusesAFiniteValueThatF16WouldMakeInfinite) {
  auto writer = SafetensorsWriter::Create(Path("m.safetensors"), {{"w", DType::kF16, {2}}}).value();
  ASSERT_TRUE(writer.AppendFloats(std::vector<float>{std::numeric_limits<float>::infinity()}).has_value());
  const Status status = writer.AppendFloats(std::vector<float>{70000.0F});
  ASSERT_FALSE(status.has_value());
  EXPECT_TRUE(Contains(status.error().message, "tensor 'w' has values beyond fp16")) << status.error().message;
}

TEST_F(SafetensorsWriterTest, RefusesNamesThatAreThereTwice) {
  for (const char* name : {"w", "__metadata__"}) {
    const auto writer =
        SafetensorsWriter::Create(Path("m.safetensors"), {{"w", DType::kF32, {1}}, {name, DType::kF32, {1}}});
    ASSERT_FALSE(writer.has_value());
    EXPECT_TRUE(Contains(writer.error().message, std::string("tensor '") + name + "' is there twice"));
  }
  EXPECT_EQ(Listing(), "");
}

TEST_F(SafetensorsWriterTest, AFullDiskIsNamedAndTheOldFileStaysWhole) {
  Write("m.safetensors", "the last save");
  {
    const FileSizeLimit limit(4096);
    auto writer = SafetensorsWriter::Create(Path("m.safetensors"), {{"w", DType::kF32, {2000}}}).value();
    const Status status = writer.AppendFloats(std::vector<float>(2000));
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, ErrorCode::kNoSpace);
    EXPECT_TRUE(Contains(status.error().message, Path("m.safetensors"))) << status.error().message;
  }
  EXPECT_EQ(Listing(), "m.safetensors");
  EXPECT_EQ(Read("m.safetensors"), "the last save");
}

TEST(JsonText, WritesFloatsAsPythonDoes) {
  EXPECT_EQ(PythonFloat(0.0), "0.0");
  EXPECT_EQ(PythonFloat(-0.5), "-0.5");
  EXPECT_EQ(PythonFloat(1e-5), "1e-05");
  EXPECT_EQ(PythonFloat(0.0001), "0.0001");
  EXPECT_EQ(PythonFloat(100000.0), "100000.0");
  EXPECT_EQ(PythonFloat(123456789012345680.0), "1.2345678901234568e+17");
  EXPECT_EQ(PythonFloat(1e15), "1000000000000000.0");
  EXPECT_EQ(PythonFloat(1e16), "1e+16");
  EXPECT_EQ(PythonFloat(1.0 / 24), "0.041666666666666664");
  EXPECT_EQ(PythonFloat(5e-324), "5e-324");
}

TEST(JsonText, WritesDocumentsAsPythonDoes) {
  JsonWriter json;
  json.BeginObject().Text("a\"\\\n\x01\x7f\u00e9", "b").Key("list").BeginArray().Integer(1).Null().EndArray();
  json.Key("none").BeginObject().EndObject().Texts("empty", {}).Bool("yes", true).EndObject();
  EXPECT_EQ(json.Finish(),
            "{\n  \"a\\\"\\\\\\n\\u0001\x7f\u00e9\": \"b\",\n  \"list\": [\n    1,\n    null\n  ],\n  \"none\": {},\n"
            "  \"empty\": [],\n  \"yes\": true\n}\n");
}

}  // namespace
}  // namespace tidemill::data
