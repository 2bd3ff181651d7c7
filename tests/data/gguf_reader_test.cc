#include "data/gguf_reader.h"

#include <string>
#include <vector>

#include "tests/data/gguf_fixture.h"

namespace tidemill::data {
namespace {

class GgufReaderTest : public FileTest {
 protected:
  Result<GgufReader> Open(const std::string& contents) const { return GgufReader::Open(Write("model.gguf", contents)); }
  std::string Refusal(const std::string& contents) const {
    const auto reader = Open(contents);
    if (reader.has_value()) return "";
    EXPECT_EQ(reader.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(reader.error().message.find(Path("model.gguf")), std::string::npos) << reader.error().message;
    return reader.error().message;
  }
};

TEST_F(GgufReaderTest, ReadsEveryKindOfValue) {
  GgufBuilder file;
  file.Key("u8", 0, Raw(uint8_t{200})).Key("i8", 1, Raw(int8_t{-3})).Key("u16", 2, Raw(uint16_t{60000}));
  file.Key("i16", 3, Raw(int16_t{-300})).Whole("u32", 4000000000U).Key("i32", 5, Raw(int32_t{-5})).Real("f32", 0.5F);
  file.Bool("bool", true)
      .Text("text", "h\u00e9")
      .Key("u64", 10, Raw(uint64_t{1} << 62))
      .Key("i64", 11, Raw(int64_t{-7}));
  file.Key("f64", 12, Raw(0.1)).Texts("texts", {"a", "", "b"}).Wholes("wholes", {1, -1});
  for (const uint32_t version : {2U, 3U}) {
    file.version = version;
    const auto reader = Open(file.Build()).value();
    const GgufMetadata& keys = reader.metadata();
    EXPECT_EQ(keys.Get<int64_t>("u8").value(), 200);
    EXPECT_EQ(keys.Get<int64_t>("i8").value(), -3);
    EXPECT_EQ(keys.Get<int64_t>("u16").value(), 60000);
    EXPECT_EQ(keys.Get<int64_t>("i16").value(), -300);
    EXPECT_EQ(keys.Get<int64_t>("u32").value(), 4000000000);
    EXPECT_EQ(keys.Get<int64_t>("i32").value(), -5);
    EXPECT_EQ(keys.Get<double>("f32").value(), 0.5);
    EXPECT_EQ(keys.Get<bool>("bool").value(), true);
    EXPECT_EQ(keys.Get<std::string>("text").value(), "h\u00e9");
    EXPECT_EQ(keys.Get<int64_t>("u64").value(), int64_t{1} << 62);
    EXPECT_EQ(keys.Get<int64_t>("i64").value(), -7);
    EXPECT_EQ(keys.Get<double>("f64").value(), 0.1);
    EXPECT_EQ(keys.Get<std::vector<std::string>>("texts").value(), (std::vector<std::string>{"a", "", "b"}));
    EXPECT_EQ(keys.Get<std::vector<int64_t>>("wholes").value(), (std::vector<int64_t>{1, -1}));
    EXPECT_TRUE(Contains(keys.Get<double>("text").error().message, "key 'text' has another kind of value"));
    EXPECT_TRUE(Contains(keys.Get<double>("gone").error().message, "key 'gone' is missing"));
    EXPECT_TRUE(Contains(keys.GetCount("u32").error().message, "key 'u32' is 4000000000, out of range"));
  }
}

TEST_F(GgufReaderTest, ReadsTensorsFromAnyBlockOn) {
  std::string q8;
  for (int block = 0; block < 3000; ++block)
    q8 += Raw(uint16_t{0x3c00}) + std::string(32, static_cast<char>(block % 100));
  GgufBuilder file;
  file.alignment = 64;
  file.Whole("general.alignment", 64).Floats("norm", {3}, {1, 2, 3}).Tensor("w", {1500, 64}, 8, q8);
  const auto reader = Open(file.Build()).value();
  const GgufTensor* w = reader.Find("w");
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(w->shape, (std::vector<uint64_t>{1500, 64}));
  EXPECT_EQ(w->elements, 96000U);
  EXPECT_EQ(w->offset_bytes % 64, 0U);
  std::vector<float> values(96000 - 32);  // more than one buffer
  ASSERT_TRUE(reader.ReadAsFloat(*w, 32, values).has_value());
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<float>((i / 32 + 1) % 100)) << i;
  std::vector<float> norm(2);
  ASSERT_TRUE(reader.ReadAsFloat(*reader.Find("norm"), 1, norm).has_value());
  EXPECT_EQ(norm, (std::vector<float>{2, 3}));
  EXPECT_EQ(reader.Find("absent"), nullptr);
}

TEST_F(GgufReaderTest, RefusesWhatIsNotGgufOfVersion2Or3) {
  EXPECT_REFUSED("", "not a GGUF file");
  EXPECT_REFUSED("GGML" + std::string(100, '\0'), "not a GGUF file");
  for (const uint32_t version : {0U, 1U, 4U}) {
    GgufBuilder file;
    file.version = version;
    EXPECT_REFUSED(file.Build(), "GGUF version " + std::to_string(version) + " is not supported");
  }
  GgufBuilder big_endian;
  big_endian.version = 0x03000000;
  EXPECT_REFUSED(big_endian.Build(), "big-endian GGUF is not supported");
}

TEST_F(GgufReaderTest, RefusesCountsThatTheFileCannotHold) {
  const std::string front = "GGUF" + Raw(uint32_t{3});
  EXPECT_REFUSED(front + Raw(UINT64_MAX) + Raw(uint64_t{0}), "18446744073709551615 tensors (at most 131072)");
  EXPECT_REFUSED(front + Raw(uint64_t{0}) + Raw(UINT64_MAX), "18446744073709551615 metadata keys (at most 65536)");
  EXPECT_REFUSED(front + Raw(uint64_t{0}) + Raw(uint64_t{1}), "file truncated");
  EXPECT_REFUSED(front + Raw(uint64_t{5}) + Raw(uint64_t{0}), "tensor number 0 has file truncated");
  EXPECT_REFUSED(GgufBuilder().Key("k", 8, Raw(UINT64_MAX)).Build(),
                 "key 'k' has a string of 18446744073709551615 bytes");
  EXPECT_REFUSED(GgufBuilder().Key("k", 9, Raw(uint32_t{8}) + Raw(uint64_t{1} << 60)).Build(),
                 "key 'k' has an array of 115");
  EXPECT_REFUSED(GgufBuilder().Key("k", 9, Raw(uint32_t{9}) + Raw(uint64_t{1})).Build(), "an array of arrays");
  EXPECT_REFUSED(GgufBuilder().Key("k", 13, "").Build(), "the unknown value type 13");
  EXPECT_REFUSED(GgufBuilder().Key("k", 9, Raw(uint32_t{77}) + Raw(uint64_t{1})).Build(), "the unknown value type 77");
  EXPECT_REFUSED(GgufBuilder().Key("k", 10, Raw(UINT64_MAX)).Build(), "key 'k' has a number above 2^63 - 1");
  EXPECT_REFUSED(GgufBuilder().Key("k", 7, "\x02").Build(), "key 'k' has a bool that is 2");
  EXPECT_REFUSED(GgufBuilder().Whole("k", 1).Whole("k", 1).Build(), "key 'k' is there twice");
  EXPECT_REFUSED(GgufBuilder().Whole("\xff", 1).Build(), "a key that is not UTF-8");
}

TEST_F(GgufReaderTest, RefusesTensorsThatCannotBe) {
  const std::string floats(32, '\0');
  EXPECT_REFUSED(GgufBuilder().Tensor("t", {}, 0, floats).Build(), "tensor 't' has 0 dimensions");
  EXPECT_REFUSED(GgufBuilder().Tensor("t", {1, 1, 1, 1, 1}, 0, floats).Build(), "tensor 't' has 5 dimensions");
  EXPECT_REFUSED(GgufBuilder().Tensor("t", {2, 0}, 0, floats).Build(), "tensor 't' has a dimension of 0");
  EXPECT_REFUSED(GgufBuilder().Tensor("t", {uint64_t{1} << 32, uint64_t{1} << 32}, 0, floats).Build(),
                 "does not fit 63 bits");
  EXPECT_REFUSED(GgufBuilder().Tensor("t", {uint64_t{1} << 62}, 0, floats).Build(), "more bytes than 64 bits count");
  EXPECT_REFUSED(GgufBuilder().Tensor("t", {8}, 12, floats).Build(), "tensor 't' has encoding Q4_K");
  EXPECT_REFUSED(GgufBuilder().Tensor("t", {2, 16}, 8, floats).Build(), "no multiple of the block of 32");
  EXPECT_REFUSED(GgufBuilder().Tensor("t", {8}, 0, floats, 4).Build(), "offset 4, no multiple of the alignment 32");
  EXPECT_REFUSED(GgufBuilder().Tensor("t", {9}, 0, floats).Build(),
                 "tensor 't' has 36 bytes from byte 64 on, and the file has 96");
  EXPECT_REFUSED(GgufBuilder().Tensor("t", {8}, 0, floats, -64 & INT64_MAX).Build(), "file truncated: tensor 't'");
  EXPECT_REFUSED(GgufBuilder().Tensor("a", {8}, 0, floats).Tensor("b", {8}, 0, floats, 0).Build(),
                 "tensors 'a' and 'b' overlap");
  EXPECT_REFUSED(GgufBuilder().Tensor("a", {8}, 0, floats).Tensor("a", {8}, 0, floats).Build(),
                 "tensor 'a' is there twice");
  EXPECT_REFUSED(GgufBuilder().Tensor(std::string(1025, 'n'), {8}, 0, floats).Build(), "a string of 1025 bytes");
}

TEST_F(GgufReaderTest, RefusesAnAlignmentThatIsNone) {
  for (const uint32_t alignment : {0U, 1U, 4U, 24U, 131072U})
    EXPECT_REFUSED(GgufBuilder().Whole("general.alignment", alignment).Build(),
                   "key 'general.alignment' is " + std::to_string(alignment));
  EXPECT_REFUSED(GgufBuilder().Text("general.alignment", "32").Build(),
                 "'general.alignment' has another kind of value");
}

TEST_F(GgufReaderTest, NoTruncationAndNoFlippedBitGetsPastTheChecks) {
  GgufBuilder file;
  file.Text("general.architecture", "llama").Texts("tokens", {"a", "bc"}).Wholes("types", {1, 3}).Real("eps", 1e-5F);
  file.Tensor("q", {2, 32}, 8, std::string(68, 'q')).Floats("norm", {2}, {1, 2});
  const std::string whole = file.Build();
  ASSERT_EQ(Refusal(whole), "");
  for (size_t length = 0; length < whole.size(); ++length) EXPECT_NE(Refusal(whole.substr(0, length)), "") << length;
  const size_t front = whole.size() - 104;
  for (size_t bit = 0; bit < 8 * front; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const auto reader = Open(flipped);  // some flips are harmless: a letter of a name, a number
    if (!reader.has_value()) continue;
    for (const GgufTensor& tensor : reader->tensors()) {
      std::vector<float> values(tensor.elements);
      EXPECT_TRUE(reader->ReadAsFloat(tensor, 0, values).has_value()) << bit;
    }
  }
}

}  // namespace
}  // namespace tidemill::data
