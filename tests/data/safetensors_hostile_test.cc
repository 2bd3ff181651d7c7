#include <string>

#include "tests/data/safetensors_fixture.h"

namespace tidemill::data {
namespace {

using SafetensorsHostileTest = SafetensorsTest;

// One tensor 'w' of two floats, with its three fields as given.
std::string OneTensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"w":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

TEST_F(SafetensorsHostileTest, TheWellFormedFileIsTaken) {
  EXPECT_EQ(Refusal(FileOf(OneTensor("\"F32\"", "[2]", "[0,8]"), std::string(8, 'x'))), "");
  EXPECT_EQ(Refusal(FileOf("{}", "")), "");
}

TEST_F(SafetensorsHostileTest, RefusesAHeaderLengthThatCannotBe) {
  EXPECT_REFUSED("", "file truncated: at least 8 bytes expected, 0 found");
  EXPECT_REFUSED("1234567", "at least 8 bytes expected, 7 found");
  EXPECT_REFUSED(LengthBytes(3) + "{}", "header of 3 bytes expected, 2 found");
  EXPECT_REFUSED(LengthBytes(100'000'001) + "{}", "header of 100000001 bytes (at most 100000000)");
  EXPECT_REFUSED(LengthBytes(UINT64_MAX) + "{}", "header of 18446744073709551615 bytes");
  EXPECT_REFUSED(LengthBytes(100'000'000) + "{}", "header of 100000000 bytes expected, 2 found");
}

TEST_F(SafetensorsHostileTest, RefusesAHeaderThatIsNotJson) {
  EXPECT_REFUSED(FileOf("", ""), "does not start with '{'");
  EXPECT_REFUSED(FileOf(" {}", ""), "does not start with '{'");
  EXPECT_REFUSED(FileOf("[]", ""), "does not start with '{'");
  EXPECT_REFUSED(FileOf("{", ""), "not valid JSON");
  EXPECT_REFUSED(FileOf("{} x", ""), "not valid JSON");
  EXPECT_REFUSED(FileOf("{\"\xff\":1}", ""), "not valid JSON");
  EXPECT_REFUSED(FileOf("{\"a\":" + std::string(100'000, '['), ""), "not valid JSON");
}

TEST_F(SafetensorsHostileTest, RefusesAKeyThatIsThereTwice) {
  const std::string w = R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_REFUSED(FileOf("{" + w + "," + w + "}", "1234"), "the header has the key 'w' twice");
  EXPECT_REFUSED(FileOf(R"({"w":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "1234"),
                 "tensor 'w' has the key 'dtype' twice");
  EXPECT_REFUSED(FileOf(R"({"__metadata__":{},"__metadata__":{}})", ""), "key '__metadata__' twice");
  EXPECT_REFUSED(FileOf(R"({"__metadata__":{"format":"pt","format":"pt"}})", ""), "key 'format' twice");
  EXPECT_REFUSED(FileOf(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"\u0077":{"dtype":"U8","shape":[1],)"
                        R"("data_offsets":[1,2]}})",
                        "12"),
                 "the header has the key 'w' twice");
}

TEST_F(SafetensorsHostileTest, RefusesFieldsOfTheWrongKind) {
  EXPECT_REFUSED(FileOf(R"({"w":[]})", ""), "tensor 'w' is not an object");
  EXPECT_REFUSED(FileOf(R"({"w":{"dtype":"F32","shape":[]}})", ""), "lacks dtype, shape or data_offsets");
  EXPECT_REFUSED(FileOf(R"({"w":{"dtype":"F32","shape":[],"data_offsets":[0,4],"x":1}})", "1234"), "unknown key 'x'");
  EXPECT_REFUSED(FileOf(OneTensor("7", "[2]", "[0,8]"), ""), "dtype that is no string");
  EXPECT_REFUSED(FileOf(OneTensor("\"F8_E4M3\"", "[2]", "[0,2]"), "12"), "tensor 'w' has the dtype 'F8_E4M3'");
  for (const char* shape : {"2", "[-1]", "[2.0]", "[\"2\"]", "[[2]]", "null"})
    EXPECT_REFUSED(FileOf(OneTensor("\"F32\"", shape, "[0,8]"), ""), "shape that is not a list of whole numbers");
  EXPECT_REFUSED(FileOf(OneTensor("\"F32\"", "[18446744073709551616]", "[0,8]"), ""), "parsing a number");
  EXPECT_REFUSED(FileOf(OneTensor("\"F32\"", "[2]", "[0,4,8]"), ""), "data_offsets that are not two numbers");
  EXPECT_REFUSED(FileOf(R"({"__metadata__":{"epoch":3}})", ""), "__metadata__ 'epoch' is not a string");
  EXPECT_REFUSED(FileOf(R"({"__metadata__":[]})", ""), "__metadata__ is not an object");
}

TEST_F(SafetensorsHostileTest, RefusesSizesThatDoNotAgree) {
  EXPECT_REFUSED(FileOf(OneTensor("\"F32\"", "[3]", "[0,8]"), std::string(8, 'x')), "12 bytes by its shape and 8 by");
  EXPECT_REFUSED(FileOf(OneTensor("\"F32\"", "[2]", "[8,0]"), std::string(8, 'x')), "data_offsets [8, 0] out of range");
  EXPECT_REFUSED(FileOf(OneTensor("\"F32\"", "[2]", "[9223372036854775800,9223372036854775808]"), ""), "out of range");
  // 2^62 * 4 elements wrap to 0 in 64 bits; 2^62 floats wrap as bytes only.
  EXPECT_REFUSED(FileOf(OneTensor("\"F32\"", "[4611686018427387904,4]", "[0,0]"), ""), "does not fit 63 bits");
  EXPECT_REFUSED(FileOf(OneTensor("\"F32\"", "[4611686018427387904]", "[0,0]"), ""), "does not fit 63 bits");
  EXPECT_EQ(Refusal(FileOf(OneTensor("\"F32\"", "[4611686018427387904,4,0]", "[0,0]"), "")), "");
}

std::string TwoTensors(const std::string& a, const std::string& b) {
  return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + a +
         R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}";
}

TEST_F(SafetensorsHostileTest, RefusesOverlapsHolesAndWrongFileLengths) {
  EXPECT_REFUSED(FileOf(TwoTensors("[0,4]", "[2,6]"), "123456"), "tensors 'a' and 'b' overlap");
  EXPECT_REFUSED(FileOf(TwoTensors("[0,4]", "[0,4]"), "1234"), "tensors 'a' and 'b' overlap");
  EXPECT_REFUSED(FileOf(TwoTensors("[0,4]", "[5,9]"), "123456789"), "hole of 1 bytes before tensor 'b'");
  EXPECT_REFUSED(FileOf(TwoTensors("[1,5]", "[5,9]"), "123456789"), "hole of 1 bytes before tensor 'a'");
  const std::string header = TwoTensors("[0,4]", "[4,8]");
  const std::string whole = std::to_string(8 + header.size() + 8);
  const auto found = [&](size_t payload) { return std::to_string(8 + header.size() + payload) + " found"; };
  EXPECT_REFUSED(FileOf(header, "1234567"), "file truncated: " + whole + " bytes expected, " + found(7));
  EXPECT_REFUSED(FileOf(header, "123456789"), "file too long: " + whole + " bytes expected, " + found(9));
  EXPECT_EQ(Refusal(FileOf(TwoTensors("[4,8]", "[0,4]"), "12345678")), "");
}

TEST_F(SafetensorsHostileTest, NoTruncationAndNoFlippedBitGetsPastTheChecks) {
  const std::string whole =
      FileOf(R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]},)"
             R"("b":{"dtype":"U8","shape":[],"data_offsets":[12,13]}})",
             std::string(13, 'x'));
  ASSERT_EQ(Refusal(whole), "");
  for (size_t length = 0; length < whole.size(); ++length) EXPECT_NE(Refusal(whole.substr(0, length)), "") << length;
  for (size_t bit = 0; bit < 8 * (whole.size() - 13); ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const auto reader = SafetensorsReader::Open(Write("flipped.safetensors", flipped));
    if (!reader.has_value()) continue;  // what passes differs in a name, a dtype of the same size or a text
    uint64_t bytes = 0;
    for (const TensorEntry& tensor : reader->tensors()) bytes += tensor.bytes;
    EXPECT_EQ(bytes, 13U) << bit;
  }
}

}  // namespace
}  // namespace tidemill::data
